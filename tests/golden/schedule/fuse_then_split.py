# What was fused and is split elsewhere keeps the fused number as it is.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3 = sch.fuse(l1, l2)
l4, l5, l6 = sch.split(l3, factors=[None, 64, 4])
# before and expected:
@T.prim_func
def before(A: T.Buffer((64, 100), "float32"), B: T.Buffer((64, 100), "float32")):
    for i, j in T.grid(64, 100):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((64, 100), "float32"), B: T.Buffer((64, 100), "float32")):
    for i_j_fused_0, i_j_fused_1, i_j_fused_2 in T.grid(25, 64, 4):
        with T.block("B"):
            vi = T.axis.spatial(64, (i_j_fused_0 * 256 + i_j_fused_1 * 4 + i_j_fused_2) // 100)
            vj = T.axis.spatial(100, (i_j_fused_0 * 256 + i_j_fused_1 * 4 + i_j_fused_2) % 100)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
