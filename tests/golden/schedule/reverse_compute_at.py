# The epilogue of a tile runs right after it.
# apply:
b0 = sch.get_block("matmul")
b1 = sch.get_block("relu")
l2, l3, l4 = sch.get_loops(b0)
l5, l6 = sch.split(l3, [None, 16])
sch.reorder(l5, l4, l6)
sch.reverse_compute_at(b1, l5)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), D: T.Buffer((16, 64), "float32")):
    C = T.alloc_buffer((16, 64), "float32")
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 64):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), D: T.Buffer((16, 64), "float32")):
    C = T.alloc_buffer((16, 64), "float32")
    for i, j_0 in T.grid(16, 4):
        for k, j_1 in T.grid(32, 16):
            with T.block("matmul"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, j_0 * 16 + j_1)
                vk = T.axis.reduce(32, k)
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for ax0 in range(16):
            with T.block("relu"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, j_0 * 16 + ax0)
                T.reads(C[vi, vj])
                T.writes(D[vi, vj])
                D[vi, vj] = T.max(C[vi, vj], T.float32(0.0))
