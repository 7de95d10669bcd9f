# The block's body follows its loops.
# apply:
b0 = sch.get_block(name="opaque")
l1, l2 = sch.get_loops(b0)
l3 = sch.fuse(l1, l2)
sch.parallel(l3)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("opaque"):
            T.reads(A[i, j])
            T.writes(C[i, j])
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1.0
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    for i_j_fused in T.parallel(512):
        with T.block("opaque"):
            T.reads(A[i_j_fused // 32, i_j_fused % 32])
            T.writes(C[i_j_fused // 32, i_j_fused % 32])
            with T.block("B"):
                vi = T.axis.spatial(16, i_j_fused // 32)
                vj = T.axis.spatial(32, i_j_fused % 32)
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = A[vi, vj] + T.float32(1.0)
