# A predicate on loops outside goes with the new block.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l1, factors=[None, 24])
b5 = sch.blockize(target=l2)
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
    for i_0, i_1 in T.grid(3, 24):
        with T.block("B_o"):
            vi_o = T.axis.spatial(64, i_0 * 24 + i_1)
            vj_o = T.axis.spatial(1, 0)
            T.where(i_0 * 24 + i_1 < 64)
            T.reads(A[vi_o, 0:40])
            T.writes(B[vi_o, 0:40])
            for j in range(40):
                with T.block("B"):
                    vj_i = T.axis.spatial(40, j)
                    T.reads(A[vi_o, vj_i])
                    T.writes(B[vi_o, vj_i])
                    B[vi_o, vj_i] = A[vi_o, vj_i] * T.float32(2.0)
