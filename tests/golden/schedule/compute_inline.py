# The producer's expression goes into the consumer.
# apply:
b0 = sch.get_block("B")
sch.compute_inline(b0)
# before and expected:
@T.prim_func
def before(A: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((8, 16))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] * T.float32(2)
