# Elsewhere its loops would be unknown. (TVM moves it and leaves their variables undefined.)
# apply:
b0 = sch.get_block(name="opaque")
b1 = sch.get_block(name="B")
l2, l3 = sch.get_loops(b1)
sch.reverse_compute_at(b0, l3)
# fails: it uses loop variables directly
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("opaque"):
            T.reads(B[i, j])
            T.writes(C[i, j])
            C[i, j] = B[i, j] + 1.0
