# Sixteen partial sums, by the outer part of the reduction; the factor is the last dimension.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l3, factors=[None, 2])
b6 = sch.rfactor(loop=l4, factor_axis=2)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vj, vk])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((16, 8), "float32")):
    C_rf = T.alloc_buffer((16, 8, 16), "float32")
    for i, j, k_0, k_1 in T.grid(16, 8, 16, 2):
        with T.block("C_rf"):
            vk_0, vi, vj, vk_1 = T.axis.remap("SSSR", [k_0, i, j, k_1])
            T.reads(A[vi, vk_0 * 2 + vk_1], B[vj, vk_0 * 2 + vk_1])
            T.writes(C_rf[vi, vj, vk_0])
            with T.init():
                C_rf[vi, vj, vk_0] = T.float32(0.0)
            C_rf[vi, vj, vk_0] = C_rf[vi, vj, vk_0] + A[vi, vk_0 * 2 + vk_1] * B[vj, vk_0 * 2 + vk_1]
    for i, j, k_0 in T.grid(16, 8, 16):
        with T.block("C"):
            vk_0, vi, vj = T.axis.remap("RSS", [k_0, i, j])
            T.reads(C_rf[vi, vj, vk_0])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + C_rf[vi, vj, vk_0]
