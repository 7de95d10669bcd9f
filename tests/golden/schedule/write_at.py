# The tile is copied back when it is whole.
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5 = sch.split(l1, [None, 8])
sch.reorder(l4, l3, l5, l2)
b6 = sch.write_at(l4, b0, 0, "shared")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    C_shared = T.alloc_buffer((16, 16), "float32", scope="shared")
    for i_0 in range(2):
        for k, i_1, j in T.grid(32, 8, 16):
            with T.block("C"):
                vi = T.axis.spatial(16, i_0 * 8 + i_1)
                vj, vk = T.axis.remap("SR", [j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C_shared[vi, vj])
                with T.init():
                    C_shared[vi, vj] = T.float32(0.0)
                C_shared[vi, vj] = C_shared[vi, vj] + A[vi, vk] * B[vk, vj]
        with T.block("C_shared"):
            v0 = T.axis.spatial(2, i_0)
            T.reads(C_shared[v0 * 8:v0 * 8 + 8, 0:16])
            T.writes(C[v0 * 8:v0 * 8 + 8, 0:16])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(8, 16):
                C[v0 * 8 + ax0, ax1] = C_shared[v0 * 8 + ax0, ax1]
