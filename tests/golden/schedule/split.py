# 128 = 8 * 16: one loop per factor.
# apply:
b0 = sch.get_block(name="copy")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l2, factors=[4, 4])
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
    for i, j_0, j_1 in T.grid(8, 4, 4):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(16, j_0 * 4 + j_1)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
