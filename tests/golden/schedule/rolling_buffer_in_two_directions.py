# Tiles overlap along both loops: the ring is along the outer one.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5 = sch.split(l1, [None, 4])
l6, l7 = sch.split(l2, [None, 4])
sch.reorder(l4, l6, l5, l7)
b8 = sch.get_block(name="B")
sch.compute_at(b8, l6)
sch.rolling_buffer(block=b8, write_buffer_index=0)
# before and expected:
@T.prim_func
def before(A: T.Buffer((18, 18), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((18, 18))
    for i, j in T.grid(18, 18):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j, k in T.grid(16, 16, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj + vk]
