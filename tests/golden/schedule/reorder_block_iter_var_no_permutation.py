# Each iter var is named once.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.reorder_block_iter_var(block=b0, new_order=[0, 0])
# fails: [0, 0] is no permutation of the 2 iter vars
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
