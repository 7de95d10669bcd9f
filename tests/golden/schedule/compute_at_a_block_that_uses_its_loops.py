# Its producer may come to it.
# apply:
b0 = sch.get_block(name="opaque")
l1, l2 = sch.get_loops(b0)
b3 = sch.get_block(name="B")
sch.compute_at(b3, l1)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("opaque"):
            T.reads(B[i, j])
            T.writes(C[i, j])
            C[i, j] = B[i, j] + 1.0
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32), "float32")
    for i in range(16):
        for ax0 in range(32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, ax0])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)
        for j in range(32):
            with T.block("opaque"):
                T.reads(B[i, j])
                T.writes(C[i, j])
                C[i, j] = B[i, j] + T.float32(1.0)
