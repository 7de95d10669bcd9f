# Two loops into one; the bindings take it apart again.
# apply:
b0 = sch.get_block(name="copy")
l1, l2 = sch.get_loops(block=b0)
l3 = sch.fuse(l1, l2)
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
    for i_j_fused in range(128):
        with T.block("copy"):
            vi = T.axis.spatial(8, i_j_fused // 16)
            vj = T.axis.spatial(16, i_j_fused % 16)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
