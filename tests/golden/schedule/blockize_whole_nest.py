# The new block has iter vars of one value.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
b3 = sch.blockize(target=l1, preserve_unit_iters=False)
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
    with T.block("B_o"):
        vi_o = T.axis.spatial(1, 0)
        vj_o = T.axis.spatial(1, 0)
        T.reads(A[0:64, 0:40])
        T.writes(B[0:64, 0:40])
        for i, j in T.grid(64, 40):
            with T.block("B"):
                vi_i, vj_i = T.axis.remap("SS", [i, j])
                T.reads(A[vi_i, vj_i])
                T.writes(B[vi_i, vj_i])
                B[vi_i, vj_i] = A[vi_i, vj_i] * T.float32(2.0)
