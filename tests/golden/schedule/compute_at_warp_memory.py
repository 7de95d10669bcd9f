# Memory of a warp is shared by the threads along x, and by those alone.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
sch.bind(l1, "threadIdx.y")
sch.bind(l2, "threadIdx.x")
b4 = sch.cache_read(b0, 0, "warp")
sch.compute_at(b4, l2)
# before and expected:
@T.prim_func
def before(A: T.Buffer((4, 32, 8), "float32"), C: T.Buffer((4, 32, 8), "float32")):
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T.reads(A[vi, vj, vk])
            T.writes(C[vi, vj, vk])
            C[vi, vj, vk] = A[vi, vj, vk] * T.float32(2.0)
@T.prim_func
def expected(A: T.Buffer((4, 32, 8), "float32"), C: T.Buffer((4, 32, 8), "float32")):
    A_warp = T.alloc_buffer((4, 32, 8), "float32", scope="warp")
    for i in T.thread_binding(4, thread="threadIdx.y"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            for ax0, ax1 in T.grid(32, 8):
                with T.block("A_warp"):
                    v0, v1, v2 = T.axis.remap("SSS", [i, ax0, ax1])
                    T.reads(A[v0, v1, v2])
                    T.writes(A_warp[v0, v1, v2])
                    A_warp[v0, v1, v2] = A[v0, v1, v2]
            for k in range(8):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    T.reads(A_warp[vi, vj, vk])
                    T.writes(C[vi, vj, vk])
                    C[vi, vj, vk] = A_warp[vi, vj, vk] * T.float32(2.0)
