# The threads of a block fill shared memory together: what any of them needs is copied by all, each a part.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(l1, factors=[None, 8])
l6, l7 = sch.split(l3, factors=[None, 4])
sch.reorder(l4, l5, l6, l2, l7)
sch.bind(l4, "blockIdx.x")
sch.bind(l5, "threadIdx.y")
b8 = sch.cache_read(b0, 0, "shared")
sch.compute_at(b8, l6)
l9, l10, l11, l12, l13 = sch.get_loops(b8)
l14 = sch.fuse(l12, l13)
l15, l16, l17 = sch.split(l14, factors=[None, 8, 2])
sch.bind(l16, "threadIdx.y")
sch.vectorize(l17)
# before and expected:
@T.prim_func
def before(A: T.Buffer((64, 16), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((64, 32), "float32")):
    for i, j, k in T.grid(64, 32, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
@T.prim_func
def expected(A: T.Buffer((64, 16), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((64, 32), "float32")):
    A_shared = T.alloc_buffer((64, 16), "float32", scope="shared")
    for i_0 in T.thread_binding(8, thread="blockIdx.x"):
        for i_1 in T.thread_binding(8, thread="threadIdx.y"):
            for k_0 in range(4):
                for ax0_ax1_fused_0 in range(2):
                    for ax0_ax1_fused_1 in T.thread_binding(8, thread="threadIdx.y"):
                        for ax0_ax1_fused_2 in T.vectorized(2):
                            with T.block("A_shared"):
                                v0 = T.axis.spatial(64, i_0 * 8 + (ax0_ax1_fused_0 * 16 + ax0_ax1_fused_1 * 2 + ax0_ax1_fused_2) // 4)
                                v1 = T.axis.spatial(16, k_0 * 4 + (ax0_ax1_fused_0 * 16 + ax0_ax1_fused_1 * 2 + ax0_ax1_fused_2) % 4)
                                T.reads(A[v0, v1])
                                T.writes(A_shared[v0, v1])
                                A_shared[v0, v1] = A[v0, v1]
                for j, k_1 in T.grid(32, 4):
                    with T.block("C"):
                        vi = T.axis.spatial(64, i_0 * 8 + i_1)
                        vj = T.axis.spatial(32, j)
                        vk = T.axis.reduce(16, k_0 * 4 + k_1)
                        T.reads(A_shared[vi, vk], B[vk, vj])
                        T.writes(C[vi, vj])
                        with T.init():
                            C[vi, vj] = T.float32(0.0)
                        C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B[vk, vj]
