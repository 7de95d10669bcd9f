# The init becomes the new block's, over the loops of the data-parallel iter vars.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l1, factors=[None, 16])
l6, l7 = sch.split(loop=l2, factors=[None, 16])
l8, l9 = sch.split(loop=l3, factors=[None, 4])
sch.reorder(l4, l6, l8, l5, l7, l9)
b10 = sch.blockize(target=l5)
# before and expected:
@T.prim_func
def before(A: T.Buffer((64, 32), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 48), "float32")):
    for i, j, k in T.grid(64, 48, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vj, vk])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
@T.prim_func
def expected(A: T.Buffer((64, 32), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 48), "float32")):
    for i_0, j_0, k_0 in T.grid(4, 3, 8):
        with T.block("C_o"):
            vi_o, vj_o, vk_o = T.axis.remap("SSR", [i_0, j_0, k_0])
            T.reads(A[vi_o * 16:vi_o * 16 + 16, vk_o * 4:vk_o * 4 + 4], B[vj_o * 16:vj_o * 16 + 16, vk_o * 4:vk_o * 4 + 4])
            T.writes(C[vi_o * 16:vi_o * 16 + 16, vj_o * 16:vj_o * 16 + 16])
            with T.init():
                for i_1, j_1 in T.grid(16, 16):
                    with T.block("C_init"):
                        vi_i_init, vj_i_init = T.axis.remap("SS", [i_1, j_1])
                        T.reads()
                        T.writes(C[vi_o * 16 + vi_i_init, vj_o * 16 + vj_i_init])
                        C[vi_o * 16 + vi_i_init, vj_o * 16 + vj_i_init] = T.float32(0.0)
            for i_1, j_1, k_1 in T.grid(16, 16, 4):
                with T.block("C"):
                    vi_i, vj_i, vk_i = T.axis.remap("SSR", [i_1, j_1, k_1])
                    T.reads(C[vi_o * 16 + vi_i, vj_o * 16 + vj_i], A[vi_o * 16 + vi_i, vk_o * 4 + vk_i], B[vj_o * 16 + vj_i, vk_o * 4 + vk_i])
                    T.writes(C[vi_o * 16 + vi_i, vj_o * 16 + vj_i])
                    C[vi_o * 16 + vi_i, vj_o * 16 + vj_i] = C[vi_o * 16 + vi_i, vj_o * 16 + vj_i] + A[vi_o * 16 + vi_i, vk_o * 4 + vk_i] * B[vj_o * 16 + vj_i, vk_o * 4 + vk_i]
