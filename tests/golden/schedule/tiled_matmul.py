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
    C = T.alloc_buffer((16, 64))
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 64):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
