# The block says that it reads more of A than its body shows.
# apply:
b0 = sch.get_block(name="B")
sch.annotate_buffer_access(b0, 0, "read", lambda vi, vj: (vi, vi + 2, vj, vj + 1))
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi:vi + 2, vj])
            T.writes(B[vi, vj])
            T.block_attr({"explicit_read_region": [0]})
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
