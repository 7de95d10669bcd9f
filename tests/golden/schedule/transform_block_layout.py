# The block gets other iter vars, and a nest of its own.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.transform_block_layout(block=b0, index_map=lambda i, j: (i // 7, j, i % 7,))
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
def expected(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for ax0, ax1, ax2 in T.grid(2, 16, 7):
        with T.block("C"):
            v0, v1, v2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.reads(B[v0 * 7 + v2, v1])
            T.writes(C[v0 * 7 + v2, v1])
            C[v0 * 7 + v2, v1] = B[v0 * 7 + v2, v1] + T.float32(1.0)
