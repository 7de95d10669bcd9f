# Neighbours under one loop become one block; their own loops go inside.
# apply:
b0 = sch.get_block(name="C")
b1 = sch.get_block(name="D")
b2 = sch.blockize([b0, b1])
sch.annotate(b2, "both", 1)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32"), D: T.Buffer((16, 32), "float32")):
    for i in range(16):
        for j in range(32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1.0
        for j in range(32):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * A[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32"), D: T.Buffer((16, 32), "float32")):
    for i in range(16):
        with T.block("outer_C_D_"):
            vi_o = T.axis.spatial(16, i)
            vj_o = T.axis.spatial(1, 0)
            T.reads(C[vi_o, 0:32], A[vi_o, 0:32])
            T.writes(D[vi_o, 0:32], C[vi_o, 0:32])
            T.block_attr({"both": 1})
            for j in range(32):
                with T.block("C"):
                    vj_i = T.axis.spatial(32, j)
                    T.reads(A[vi_o, vj_i])
                    T.writes(C[vi_o, vj_i])
                    C[vi_o, vj_i] = A[vi_o, vj_i] + T.float32(1.0)
            for j in range(32):
                with T.block("D"):
                    vj_i = T.axis.spatial(32, j)
                    T.reads(C[vi_o, vj_i], A[vi_o, vj_i])
                    T.writes(D[vi_o, vj_i])
                    D[vi_o, vj_i] = C[vi_o, vj_i] * A[vi_o, vj_i]
