# The map uses an iter var that reduces.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.reindex_cache_write(block=b0, write_buffer_index=0, storage_scope="shared", index_map=lambda vi, vj, vk: (vj, vi, vk,))
# fails: iter var "vk" appears in the results of the index map, but not in the indices of the buffer
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
