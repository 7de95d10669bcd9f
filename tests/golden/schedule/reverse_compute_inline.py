# The consumer goes into its producer, its transposed read inverted.
# apply:
b0 = sch.get_block("C")
sch.reverse_compute_inline(b0)
# before and expected:
@T.prim_func
def before(A: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vj, vi])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vj, vi] * T.float32(2.0)
@T.prim_func
def expected(A: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vj, vi])
            C[vj, vi] = (A[vi, vj] + T.float32(1.0)) * T.float32(2.0)
