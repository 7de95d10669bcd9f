# TVM accepts this and loses the bound.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
b3 = sch.blockize(target=l1)
# fails: its predicate cannot be divided
# before and expected:
@T.prim_func
def before(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(6, 4):
        with T.block("B"):
            vi = T.axis.spatial(2, i)
            vj = T.axis.spatial(4, j)
            T.where(i < 2)
            B[vi, vj] = A[vi, vj] * 2.0
