# The copy of what is read has the axes of the block.
# apply:
b0 = sch.get_block(name="B", func_name="main")
b1 = sch.reindex(block=b0, buffer=("read", 0))
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
    A_reindex = T.alloc_buffer((16, 32), "float32")
    for ax0, ax1 in T.grid(16, 32):
        with T.block("A_reindex_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(A[v1, v0])
            T.writes(A_reindex[v0, v1])
            A_reindex[v0, v1] = A[v1, v0]
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A_reindex[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A_reindex[vi, vj] * T.float32(2.0)
