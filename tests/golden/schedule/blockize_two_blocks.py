# One block makes the tile.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.get_block(name="B", func_name="main")
l2, l3 = sch.get_loops(block=b0)
sch.compute_at(block=b1, loop=l2)
b4 = sch.blockize(target=l2)
# fails: there are 2 blocks below it, one is required
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
