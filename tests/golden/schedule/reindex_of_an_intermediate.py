# The copy comes after the producer.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.reindex(block=b0, buffer=("read", 0))
b2 = sch.get_block(name="B", func_name="main")
b3 = sch.reindex(block=b2, buffer=("write", 0))
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vj, vi])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vj, vi] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16), "float32")
    B_reindex = T.alloc_buffer((16, 16), "float32")
    B_reindex_1 = T.alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B_reindex_1[vi, vj])
            B_reindex_1[vi, vj] = A[vi, vj] * T.float32(2.0)
    for ax0, ax1 in T.grid(16, 16):
        with T.block("B_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(B_reindex_1[v0, v1])
            T.writes(B[v0, v1])
            B[v0, v1] = B_reindex_1[v0, v1]
    for ax0, ax1 in T.grid(16, 16):
        with T.block("B_reindex_reindex"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(B[v1, v0])
            T.writes(B_reindex[v0, v1])
            B_reindex[v0, v1] = B[v1, v0]
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B_reindex[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B_reindex[vi, vj] + T.float32(1.0)
