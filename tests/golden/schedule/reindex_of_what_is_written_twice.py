# Two rows are written to one place; the copy back would not know which came last (TVM accepts this).
# apply:
b0 = sch.get_block(name="B", func_name="main")
b1 = sch.reindex(block=b0, buffer=("write", 0))
# fails: it may write an element of "B" more than once
# before and expected:
@T.prim_func
def before(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 2, vj] = A[vj, vi] * 2.0
