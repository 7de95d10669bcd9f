# Each largest computation gets a buffer, the longest first.
# apply:
b0 = sch.get_block(name="resize")
b1, b2, b3 = sch.cache_index(b0, "global")
# before and expected:
@T.prim_func
def before(A: T.Buffer((40, 40), "float32"), B: T.Buffer((80, 80), "float32")):
    for i, j in T.grid(80, 80):
        with T.block("resize"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 4 + vj // 4, vj // 2] + A[vi // 2, vj // 2]
@T.prim_func
def expected(A: T.Buffer((40, 40), "float32"), B: T.Buffer((80, 80), "float32")):
    index_var_0 = T.alloc_buffer((80, 80), "int32")
    index_var_1 = T.alloc_buffer((80,), "int32", strides=(1,))
    index_var_2 = T.alloc_buffer((80,), "int32", strides=(1,))
    for ax0, ax1 in T.grid(80, 80):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads()
            T.writes(index_var_0[v0, v1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 4
    for ax0 in range(80):
        with T.block("index_1"):
            v0 = T.axis.spatial(80, ax0)
            T.reads()
            T.writes(index_var_1[v0])
            index_var_1[v0] = v0 // 2
    for ax0 in range(80):
        with T.block("index_2"):
            v0 = T.axis.spatial(80, ax0)
            T.reads()
            T.writes(index_var_2[v0])
            index_var_2[v0] = v0 // 2
    for i, j in T.grid(80, 80):
        with T.block("resize"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[T.min(vi // 4 + vj // 4, vi // 2):T.min(vi // 4 + vj // 4, vi // 2) + (T.max(vi // 4 + vj // 4, vi // 2) + 1 - T.min(vi // 4 + vj // 4, vi // 2)), vj // 2])
            T.writes(B[vi, vj])
            B[vi, vj] = A[index_var_0[vi, vj], index_var_1[vj]] + A[index_var_2[vi], index_var_1[vj]]
