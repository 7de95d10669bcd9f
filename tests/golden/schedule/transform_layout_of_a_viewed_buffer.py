# A view knows the old layout.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.transform_layout(block=b0, buffer=("read", 0), index_map=lambda i, j: (j, i,), pad_value=None, assume_injective_transform=False)
# fails: buffer "B" is seen through a view (match_buffer)
# before and expected:
@T.prim_func
def before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8))
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B0 = T.match_buffer(B[vi, vj], (1, 1), strides=[8, 1], offset_factor=1)
            B0[0, 0] = A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj]
