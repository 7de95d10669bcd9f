# Fusing what was split gives the loop back.
# apply:
b0 = sch.get_block(name="copy")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l2, factors=[4, 4])
l5 = sch.fuse(l3, l4)
# before and expected:
@T.prim_func
def before(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j_0_j_1_fused in T.grid(8, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j_0_j_1_fused])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
