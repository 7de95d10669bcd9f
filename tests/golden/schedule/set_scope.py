# Everybody uses the buffer in shared memory.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.set_scope(block=b0, buffer_index=0, storage_scope="shared")
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
    B_shared = T.alloc_buffer((16, 8), "float32", scope="shared")
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B_shared[vi, vj])
            B_shared[vi, vj] = A[vi, vj]
    for k, l in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            T.reads(B_shared[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B_shared[vi, vj]
