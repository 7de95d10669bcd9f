# A row of B is made once and kept for the two tiles after.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
b4 = sch.get_block(name="B")
sch.compute_at(b4, l1)
sch.rolling_buffer(b4, 0)
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
    B = T.alloc_buffer((3, 18), "float32")
    for i in range(16):
        for ax0, ax1 in T.grid(3, 18):
            with T.block("B"):
                vi = T.axis.opaque(18, i + ax0)
                vj = T.axis.spatial(18, ax1)
                T.where(i < 1 or 2 <= ax0)
                T.reads(A[vi, vj])
                T.writes(B[vi % 3, vj])
                B[vi % 3, vj] = A[vi, vj] * T.float32(2.0)
        for j, k in T.grid(16, 3):
            with T.block("C"):
                vi = T.axis.opaque(16, i)
                vj, vk = T.axis.remap("SR", [j, k])
                T.reads(B[(vi + vk) % 3, vj + vk])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + B[(vi + vk) % 3, vj + vk]
