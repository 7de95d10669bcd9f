# The copy lies as the map says.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.reindex_cache_read(block=b0, read_buffer_index=1, storage_scope="shared", index_map=lambda vi, vj, vk: (vk // 4, vj, vk % 4,))
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vj, vk])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 16), "float32")):
    B_shared = T.alloc_buffer((8, 16, 4), "float32", scope="shared")
    for ax0, ax1 in T.grid(16, 32):
        with T.block("B_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(B[v0, v1])
            T.writes(B_shared[v1 // 4, v0, v1 % 4])
            B_shared[v1 // 4, v0, v1 % 4] = B[v0, v1]
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B_shared[vk // 4, vj, vk % 4])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B_shared[vk // 4, vj, vk % 4]
