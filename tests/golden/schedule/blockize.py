# A tile of 16 by 8 becomes a block.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l1, factors=[None, 16])
l5, l6 = sch.split(loop=l2, factors=[None, 8])
sch.reorder(l3, l5, l4, l6)
b7 = sch.blockize(target=l4)
# before and expected:
@T.prim_func
def before(A: T.Buffer((64, 40), "float32"), B: T.Buffer((64, 40), "float32")):
    for i, j in T.grid(64, 40):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
@T.prim_func
def expected(A: T.Buffer((64, 40), "float32"), B: T.Buffer((64, 40), "float32")):
    for i_0, j_0 in T.grid(4, 5):
        with T.block("B_o"):
            vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
            T.reads(A[vi_o * 16:vi_o * 16 + 16, vj_o * 8:vj_o * 8 + 8])
            T.writes(B[vi_o * 16:vi_o * 16 + 16, vj_o * 8:vj_o * 8 + 8])
            for i_1, j_1 in T.grid(16, 8):
                with T.block("B"):
                    vi_i, vj_i = T.axis.remap("SS", [i_1, j_1])
                    T.reads(A[vi_o * 16 + vi_i, vj_o * 8 + vj_i])
                    T.writes(B[vi_o * 16 + vi_i, vj_o * 8 + vj_i])
                    B[vi_o * 16 + vi_i, vj_o * 8 + vj_i] = A[vi_o * 16 + vi_i, vj_o * 8 + vj_i] * T.float32(2.0)
