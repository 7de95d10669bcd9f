# The last of three tiles is not full: no box of rows is the same for all.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l1, factors=[None, 24])
b5 = sch.blockize(target=l4)
# fails: the bindings of block "B" cannot be divided here
# before and expected:
@T.prim_func
def before(A: T.Buffer((64, 40), "float32"), B: T.Buffer((64, 40), "float32")):
    for i, j in T.grid(64, 40):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
