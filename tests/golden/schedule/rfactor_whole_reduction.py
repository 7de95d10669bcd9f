# Nothing is left to reduce in the new block: it stores the terms.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
sch.reorder(l3, l1, l2)
b4 = sch.rfactor(loop=l3, factor_axis=-3)
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
    C_rf = T.alloc_buffer((32, 16, 8), "float32")
    for k, i, j in T.grid(32, 16, 8):
        with T.block("C_rf"):
            vk, vi, vj = T.axis.remap("SSS", [k, i, j])
            T.reads(A[vi, vk], B[vj, vk])
            T.writes(C_rf[vk, vi, vj])
            C_rf[vk, vi, vj] = A[vi, vk] * B[vj, vk]
    for k, i, j in T.grid(32, 16, 8):
        with T.block("C"):
            vk, vi, vj = T.axis.remap("RSS", [k, i, j])
            T.reads(C_rf[vk, vi, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + C_rf[vk, vi, vj]
