# The function takes the buffer so.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[1])
# before and expected:
@T.prim_func
def before(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32", axis_separators=[1])):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
