# What is done once is left alone.
# apply:
b0 = sch.get_block(name="resize")
l1, l2 = sch.get_loops(b0)
l3, l4 = sch.split(l1, [None, 8])
b5, = sch.cache_index(block=b0, storage_scope="local", cse_thresh=2)
# before and expected:
@T.prim_func
def before(A: T.Buffer((40, 40), "float32"), B: T.Buffer((80, 80), "float32")):
    for i, j in T.grid(80, 80):
        with T.block("resize"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vi // 2, vj // 2]
@T.prim_func
def expected(A: T.Buffer((40, 40), "float32"), B: T.Buffer((80, 80), "float32")):
    index_var_0 = T.alloc_buffer((80,), "int32", strides=(1,), scope="local")
    for ax0 in range(80):
        with T.block("index_0"):
            v0 = T.axis.spatial(80, ax0)
            T.reads()
            T.writes(index_var_0[v0])
            index_var_0[v0] = v0 // 2
    for i_0, i_1, j in T.grid(10, 8, 80):
        with T.block("resize"):
            vi = T.axis.spatial(80, i_0 * 8 + i_1)
            vj = T.axis.spatial(80, j)
            T.reads(A[T.min(vi // 4 + vj // 4, vi // 2):T.min(vi // 4 + vj // 4, vi // 2) + (T.max(vi // 4 + vj // 4, vi // 2) + 1 - T.min(vi // 4 + vj // 4, vi // 2)), vj // 2])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi // 4 + vj // 4, index_var_0[vj]] + A[vi // 2, index_var_0[vj]]
