# The sum begins with the bias.
# apply:
b0 = sch.get_block(name="C")
b1 = sch.get_block(name="D")
sch.fuse_reduction_epilogue(b0, b1)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 8), "float32"), bias: T.Buffer((8,), "float32"), D: T.Buffer((16, 8), "float32")):
    C = T.alloc_buffer((16, 8))
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 8):
        with T.block("D"):
            x, y = T.axis.remap("SS", [i, j])
            D[x, y] = bias[y] + C[x, y]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 8), "float32"), bias: T.Buffer((8,), "float32"), D: T.Buffer((16, 8), "float32")):
    C = T.alloc_buffer((16, 8), "float32")
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(bias[vj], A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = bias[vj]
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
