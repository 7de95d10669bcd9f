# A block that writes several elements leaves the gaps to one after it.
# apply:
b0 = sch.get_block(name="B")
sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i, j: (i // 4, j, i % 4), pad_value=lambda i, j, k: (T.float32(0.0),))
# before and expected:
@T.prim_func
def before(A: T.Buffer((7, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16))
    for i, j in T.grid(7, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 2, vj] = A[vi, vj] * T.float32(2.0)
            B[vi * 2 + 1, 15 - vj] = A[vi, vj] + T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((7, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((4, 16, 4), "float32")
    for i, j in T.grid(7, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi // 2, T.min(vj, 15 - vj):T.min(vj, 15 - vj) + (T.max(vj, 15 - vj) + 1 - T.min(vj, 15 - vj)), vi % 2 * 2:vi % 2 * 2 + 2])
            B[vi // 2, vj, vi % 2 * 2] = A[vi, vj] * T.float32(2.0)
            B[vi // 2, 15 - vj, vi % 2 * 2 + 1] = A[vi, vj] + T.float32(2.0)
    for axis0, j, axis2 in T.grid(4, 16, 4):
        with T.block("buffer_B_padding"):
            v_axis0, v_j, v_axis2 = T.axis.remap("SSS", [axis0, j, axis2])
            T.where(axis0 == 3 and 2 <= axis2)
            T.reads()
            T.writes(B[v_axis0, v_j, v_axis2])
            B[v_axis0, v_j, v_axis2] = T.float32(0.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi // 4, vj, vi % 4])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi // 4, vj, vi % 4] + T.float32(1.0)
