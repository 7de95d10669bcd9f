# The nest that ran over the old shape runs over the new one.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i, j: (i // 4, j, i % 4,), pad_value=lambda i, j, k: (T.float32(1.0),), assume_injective_transform=False)
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
    B = T.alloc_buffer((4, 16, 4), "float32")
    for axis0, j, axis2 in T.grid(4, 16, 4):
        with T.block("B"):
            v_axis0, v_j, v_axis2 = T.axis.remap("SSS", [axis0, j, axis2])
            T.reads(A[v_axis0 * 4 + v_axis2, v_j])
            T.writes(B[v_axis0, v_j, v_axis2])
            B[v_axis0, v_j, v_axis2] = T.if_then_else(v_axis0 == 3 and 2 <= v_axis2, T.float32(1.0), A[v_axis0 * 4 + v_axis2, v_j] * T.float32(2.0))
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi // 4, vj, vi % 4])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi // 4, vj, vi % 4] + T.float32(1.0)
