# A stored decision is taken as it is.
# apply:
b0 = sch.get_block("copy")
l1, l2 = sch.get_loops(b0)
v3, v4 = sch.sample_perfect_tile(l2, n=2, max_innermost_factor=16, decision=[2, 8])
l5, l6 = sch.split(l2, [v3, v4])
# before and expected:
@T.prim_func
def before(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j_0, j_1 in T.grid(8, 2, 8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(16, j_0 * 8 + j_1)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
