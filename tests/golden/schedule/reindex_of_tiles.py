# Loops do not matter, nor does a predicate that says no more than the domains.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l1, factors=[None, 6])
b5 = sch.reindex(block=b0, buffer=("write", 0))
# before and expected:
@T.prim_func
def before(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vj, vi])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vj, vi] * T.float32(2.0)
@T.prim_func
def expected(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")):
    B_reindex = T.alloc_buffer((16, 32), "float32")
    for i_0, i_1, j in T.grid(3, 6, 32):
        with T.block("B"):
            vi = T.axis.spatial(16, i_0 * 6 + i_1)
            vj = T.axis.spatial(32, j)
            T.where(i_0 * 6 + i_1 < 16)
            T.reads(A[vj, vi])
            T.writes(B_reindex[vi, vj])
            B_reindex[vi, vj] = A[vj, vi] * T.float32(2.0)
    for ax0, ax1 in T.grid(16, 32):
        with T.block("B_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(B_reindex[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = B_reindex[v0, v1]
