# The threads share the copy: it holds what all of them read.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5, l6 = sch.split(l1, [None, 4, 2])
l7, l8 = sch.split(l3, [None, 4])
sch.reorder(l4, l5, l7, l6, l2, l8)
sch.bind(l4, "blockIdx.x")
sch.bind(l5, "threadIdx.x")
b9 = sch.read_at(l7, b0, 0, "shared")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    A_shared = T.alloc_buffer((16, 32), "float32", scope="shared")
    for i_0 in T.thread_binding(2, thread="blockIdx.x"):
        for i_1 in T.thread_binding(4, thread="threadIdx.x"):
            for k_0 in range(8):
                with T.block("A_shared"):
                    v0, v1 = T.axis.remap("SS", [i_0, k_0])
                    T.reads(A[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
                    T.writes(A_shared[v0 * 8:v0 * 8 + 8, v1 * 4:v1 * 4 + 4])
                    T.block_attr({"auto_copy": 1})
                    for ax0, ax1 in T.grid(8, 4):
                        A_shared[v0 * 8 + ax0, v1 * 4 + ax1] = A[v0 * 8 + ax0, v1 * 4 + ax1]
                for i_2, j, k_1 in T.grid(2, 16, 4):
                    with T.block("C"):
                        vi = T.axis.spatial(16, i_0 * 8 + i_1 * 2 + i_2)
                        vj = T.axis.spatial(16, j)
                        vk = T.axis.reduce(32, k_0 * 4 + k_1)
                        T.reads(A_shared[vi, vk], B[vk, vj])
                        T.writes(C[vi, vj])
                        with T.init():
                            C[vi, vj] = T.float32(0.0)
                        C[vi, vj] = C[vi, vj] + A_shared[vi, vk] * B[vk, vj]
