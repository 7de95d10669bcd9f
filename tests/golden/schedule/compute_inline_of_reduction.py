# A reduction cannot be inlined.
# apply:
b0 = sch.get_block("matmul")
sch.compute_inline(b0)
# fails: compute_inline @before block "matmul": it is no complete block: it has an iter var that is not data-parallel
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
