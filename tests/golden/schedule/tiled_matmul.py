# Two levels of tiles, a local accumulator and a fused epilogue.
# apply:
b0 = sch.get_block("matmul")
b1 = sch.get_block("relu")
b2 = sch.cache_write(b0, 0, "local")
sch.compute_inline(b2)
l3, l4, l5 = sch.get_loops(b0)
l6, l7 = sch.split(l3, [None, 4])
l8, l9 = sch.split(l4, [None, 16])
sch.reorder(l6, l8, l5, l7, l9)
sch.reverse_compute_at(b1, l8)
sch.vectorize(l9)
sch.unroll(l7)
l10 = sch.fuse(l6, l8)
sch.parallel(l10)
b11 = sch.decompose_reduction(b0, l5)
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
    C_local = T.alloc_buffer((16, 64), "float32", scope="local")
    for i_0_j_0_fused in T.parallel(16):
        for i_1_init in T.unroll(4):
            for j_1_init in T.vectorized(16):
                with T.block("matmul_init"):
                    vi = T.axis.spatial(16, i_0_j_0_fused // 4 * 4 + i_1_init)
                    vj = T.axis.spatial(64, i_0_j_0_fused % 4 * 16 + j_1_init)
                    T.reads()
                    T.writes(C_local[vi, vj])
                    C_local[vi, vj] = T.float32(0.0)
        for k in range(32):
            for i_1 in T.unroll(4):
                for j_1 in T.vectorized(16):
                    with T.block("matmul_update"):
                        vi = T.axis.spatial(16, i_0_j_0_fused // 4 * 4 + i_1)
                        vj = T.axis.spatial(64, i_0_j_0_fused % 4 * 16 + j_1)
                        vk = T.axis.reduce(32, k)
                        T.reads(C_local[vi, vj], A[vi, vk], B[vk, vj])
                        T.writes(C_local[vi, vj])
                        C_local[vi, vj] = C_local[vi, vj] + A[vi, vk] * B[vk, vj]
        for ax0, ax1 in T.grid(4, 16):
            with T.block("relu"):
                vi = T.axis.spatial(16, i_0_j_0_fused // 4 * 4 + ax0)
                vj = T.axis.spatial(64, i_0_j_0_fused % 4 * 16 + ax1)
                T.reads(C_local[vi, vj])
                T.writes(D[vi, vj])
                D[vi, vj] = T.max(C_local[vi, vj], T.float32(0.0))
