# An output has no consumer to move to.
# apply:
b0 = sch.get_block("C")
b1 = sch.get_block("B")
l2, = sch.get_loops(b1)
sch.compute_at(b0, l2)
# fails: compute_at @before block "C": it writes an output of the scope
# before and expected:
@T.prim_func
def before(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((34,))
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            B[vi] = A[vi] * T.float32(2)
    for i, k in T.grid(32, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi + vk]
