# Tiles of a symbolic extent, the last of them cut off, reach its end.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.get_block(name="B", func_name="main")
l2, l3 = sch.get_loops(b1)
l4, l5 = sch.split(l2, factors=[None, 32])
sch.reverse_compute_at(b0, l4)
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
    B = T.alloc_buffer((n, 128), "float32")
    for i_0 in range((n + 31) // 32):
        for i_1, j in T.grid(32, 128):
            with T.block("B"):
                vi = T.axis.spatial(n, i_0 * 32 + i_1)
                vj = T.axis.spatial(128, j)
                T.where(i_0 * 32 + i_1 < n)
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
        for ax0, ax1 in T.grid(32, 128):
            with T.block("C"):
                vi = T.axis.spatial(n, i_0 * 32 + ax0)
                vj = T.axis.spatial(128, ax1)
                T.where(i_0 * 32 + ax0 < n)
                T.reads(B[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = T.max(B[vi, vj], T.float32(0.0))
