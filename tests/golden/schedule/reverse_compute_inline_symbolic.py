# Symbolic extents are as good as constants.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.reverse_compute_inline(b0)
# before and expected:
@T.prim_func
def before(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 128), "float32")
    C = T.match_buffer(c, (n, 128), "float32")
    B = T.alloc_buffer((n, 128), "float32")
    for i, j in T.grid(n, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
    for i, j in T.grid(n, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.max(B[vi, vj], T.float32(0.0))
@T.prim_func
def expected(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 128), "float32")
    C = T.match_buffer(c, (n, 128), "float32")
    for i, j in T.grid(n, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = T.max(A[vi, vj] + T.float32(1.0), T.float32(0.0))
