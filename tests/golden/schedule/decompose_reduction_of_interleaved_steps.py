# Steps of an element that others come between: each element has its first step before the others.
# apply:
b0 = sch.get_block("matmul")
l1, l2, l3 = sch.get_loops(b0)
sch.reorder(l3, l2)
l4 = sch.fuse(l3, l2)
l5, l6 = sch.split(l4, [None, 16])
b7 = sch.decompose_reduction(b0, l5)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    for i in range(16):
        for k_j_fused_0_init, k_j_fused_1_init in T.grid(128, 16):
            with T.block("matmul_init"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, (k_j_fused_0_init * 16 + k_j_fused_1_init) % 64)
                T.reads()
                T.writes(C[vi, vj])
                C[vi, vj] = T.float32(0.0)
        for k_j_fused_0, k_j_fused_1 in T.grid(128, 16):
            with T.block("matmul_update"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, (k_j_fused_0 * 16 + k_j_fused_1) % 64)
                vk = T.axis.reduce(32, (k_j_fused_0 * 16 + k_j_fused_1) // 64)
                T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
