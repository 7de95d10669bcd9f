# Views are cut likewise.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.set_axis_separator(block=b0, buffer=("read", 0), axis_separators=[1])
# before and expected:
@T.prim_func
def before(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B0_elem_offset = T.int32()
            B0 = T.match_buffer(B[vi, vj], (1, 1), "float32", strides=(8, 1), elem_offset=B0_elem_offset)
            B0[0, 0] = A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
@T.prim_func
def expected(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32", axis_separators=[1])
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B0_elem_offset = T.int32()
            B0 = T.match_buffer(B[vi, vj], (1, 1), "float32", strides=(8, 1), elem_offset=B0_elem_offset, axis_separators=[1])
            B0[0, 0] = A[vi, vj]
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj]
