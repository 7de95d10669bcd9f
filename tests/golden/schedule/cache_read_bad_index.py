# There is no third read region.
# apply:
b0 = sch.get_block(name="matmul")
b1 = sch.cache_read(b0, 2, "local")
# fails: cache_read @before block "matmul": it has 2 read regions, index 2 is not among them
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
