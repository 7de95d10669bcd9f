# The tile is copied back when it is whole.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5 = sch.split(l1, [None, 8])
sch.reorder(l4, l3, l5, l2)
b6 = sch.write_at(l4, b0, 0, "shared")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
