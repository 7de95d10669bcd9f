# What is written lies as the map says.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.reindex_cache_write(block=b0, write_buffer_index=0, storage_scope="shared", index_map=lambda vi, vj, vk: (vj, vi,))
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
    C_shared = T.alloc_buffer((16, 16), "float32", scope="shared")
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vj, vk])
            T.writes(C_shared[vj, vi])
            with T.init():
                C_shared[vj, vi] = T.float32(0.0)
            C_shared[vj, vi] = C_shared[vj, vi] + A[vi, vk] * B[vj, vk]
    for ax0, ax1 in T.grid(16, 16):
        with T.block("C_shared"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(C_shared[v1, v0])
            T.writes(C[v0, v1])
            C[v0, v1] = C_shared[v1, v0]
