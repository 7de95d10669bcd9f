# A parameter stays where it is.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.set_scope(block=b0, buffer_index=0, storage_scope="shared")
# fails: buffer "B" is a parameter or a view
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
