# A second request for one axis replaces the first; axes count from the end, too.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.storage_align(block=b0, buffer_index=0, axis=-2, factor=32, offset=8)
sch.storage_align(block=b0, buffer_index=0, axis=1, factor=4, offset=0)
sch.storage_align(block=b0, buffer_index=0, axis=0, factor=16, offset=4)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
    for k, l in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            T.block_attr({"buffer_dim_align": [[0, 0, 16, 4], [0, 1, 4, 0]]})
            B[vi, vj] = A[vi, vj]
    for k, l in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
