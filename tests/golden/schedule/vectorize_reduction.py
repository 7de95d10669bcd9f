# A reduction loop has dependent iterations.
# apply:
b0 = sch.get_block(name="matmul")
l1, l2, l3 = sch.get_loops(block=b0)
sch.vectorize(l3)
# fails: vectorize @before loop "k": it feeds iter var "vk" of block "matmul", which is not data-parallel
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
