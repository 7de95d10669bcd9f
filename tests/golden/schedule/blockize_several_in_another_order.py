# D reads what C writes.
# apply:
b0 = sch.get_block(name="D")
b1 = sch.get_block(name="C")
b2 = sch.blockize([b0, b1])
# fails: it would come later
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
