# Tiles overlap along both loops: the ring is along the outer one.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5 = sch.split(l1, [None, 4])
l6, l7 = sch.split(l2, [None, 4])
sch.reorder(l4, l6, l5, l7)
b8 = sch.get_block(name="B")
sch.compute_at(b8, l6)
sch.rolling_buffer(block=b8, write_buffer_index=0)
# before and expected:
@T.prim_func
def before(A: T.Buffer((18, 18), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((18, 18))
    for i, j in T.grid(18, 18):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j, k in T.grid(16, 16, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + B[vi + vk, vj + vk]
@T.prim_func
def expected(A: T.Buffer((18, 18), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((6, 18), "float32")
    for i_0, j_0 in T.grid(4, 4):
        for ax0, ax1 in T.grid(6, 6):
            with T.block("B"):
                vi = T.axis.opaque(18, i_0 * 4 + ax0)
                vj = T.axis.spatial(18, j_0 * 4 + ax1)
                T.where((i_0 < 1 or 2 <= ax0) and (j_0 < 1 or 2 <= ax1))
                T.reads(A[vi, vj])
                T.writes(B[vi % 6, vj])
                B[vi % 6, vj] = A[vi, vj] * T.float32(2.0)
        for i_1, j_1, k in T.grid(4, 4, 3):
            with T.block("C"):
                vi = T.axis.opaque(16, i_0 * 4 + i_1)
                vj = T.axis.spatial(16, j_0 * 4 + j_1)
                vk = T.axis.reduce(3, k)
                T.reads(B[(vi + vk) % 6, vj + vk])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + B[(vi + vk) % 6, vj + vk]
