# The root block is in no loop.
# apply:
b0 = sch.get_block(name="root", func_name="main")
l1 = sch.add_unit_loop(block_or_loop=b0)
# fails: the root block cannot be in a loop
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
