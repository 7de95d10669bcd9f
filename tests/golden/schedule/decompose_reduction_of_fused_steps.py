# A loop that goes element by element through the steps: the init sets each element as often.
# apply:
b0 = sch.get_block("matmul")
l1, l2, l3 = sch.get_loops(b0)
l4 = sch.fuse(l2, l3)
b5 = sch.decompose_reduction(b0, l4)
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
        for j_k_fused_init in range(2048):
            with T.block("matmul_init"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, j_k_fused_init // 32)
                T.reads()
                T.writes(C[vi, vj])
                C[vi, vj] = T.float32(0.0)
        for j_k_fused in range(2048):
            with T.block("matmul_update"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, j_k_fused // 32)
                vk = T.axis.reduce(32, j_k_fused % 32)
                T.reads(C[vi, vj], A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
