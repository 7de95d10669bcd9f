# The loops have 16 and 8 iterations.
# apply:
b0 = sch.get_block(name="B", func_name="main")
b1 = sch.get_block(name="C", func_name="main")
l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.get_loops(block=b1)
l6 = sch.merge(l2, l5)
# fails: loops deep, the first one 1
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for k, l in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            C[vi, vj] = B[vi, vj]
