# A tiled schedule with a cache, a decomposed reduction, a guarded tail and GPU threads.
@T.prim_func
def main(A: T.Buffer((100, 64), "float32"), B: T.Buffer((64, 128), "float32"), C: T.Buffer((100, 128), "float32")):
    with T.block("root"):
        T.block_attr({"meta_schedule.unroll_explicit": 16})
        C_local = T.alloc_buffer((100, 128), scope="local")
        for i_0_j_0_fused in T.thread_binding(14, thread="blockIdx.x"):
            for i_1_j_1_fused in T.thread_binding(128, thread="threadIdx.x", annotations={"pragma_auto_unroll_max_step": 64, "pragma_unroll_explicit": 1}):
                with T.block("C_init"):
                    v_i = T.axis.spatial(100, i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8)
                    v_j_o = T.axis.spatial(16, i_0_j_0_fused % 2 * 8 + i_1_j_1_fused % 8)
                    T.where(i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8 < 100)
                    for j in T.vectorized(8):
                        C_local[v_i, v_j_o * 8 + j] = 0
                for k in T.serial(64):
                    for j in T.unroll(8):
                        with T.block("C_update"):
                            v_i = T.axis.spatial(100, i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8)
                            v_j = T.axis.spatial(128, i_0_j_0_fused % 2 * 64 + i_1_j_1_fused % 8 * 8 + j)
                            v_k = T.axis.reduce(64, k)
                            T.where(i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8 < 100)
                            C_local[v_i, v_j] += A[v_i, v_k] * B[v_k, v_j]
                with T.sblock("C_store"):
                    v_i = T.axis.S(100, i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8)
                    v_j_o = T.axis.S(16, i_0_j_0_fused % 2 * 8 + i_1_j_1_fused % 8)
                    T.where(i_0_j_0_fused // 2 * 16 + i_1_j_1_fused // 8 < 100)
                    T.reads(C_local[v_i, v_j_o * 8:v_j_o * 8 + 8])
                    T.writes(C[v_i, v_j_o * 8:v_j_o * 8 + 8])
                    dst = T.match_buffer(C[v_i, v_j_o * 8:v_j_o * 8 + 8], (1, 8), "float32", elem_offset=v_i * 128 + v_j_o * 8, offset_factor=8)
                    for j in range(8):
                        dst[0, j] = C_local[v_i, v_j_o * 8 + j]
