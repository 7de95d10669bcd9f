# The maximum of a sum is none of its parts. (TVM takes it in each step.)
# apply:
b0 = sch.get_block(name="C")
b1 = sch.get_block(name="D")
sch.fuse_reduction_epilogue(b0, b1)
# fails: it does not add to what block "C" makes, once, in one store
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
            D[x, y] = T.max(C[x, y] + bias[y], T.float32(0))
