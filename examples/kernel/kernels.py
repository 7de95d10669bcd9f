# lathe compile kernels.py -o libkernels.so    writes libkernels.h beside it
@T.prim_func
def matmul(A: T.Buffer((48, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((48, 64), "float32")):
    for i, j, k in T.grid(48, 64, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def scale(X: T.Buffer((100,), "float32"), factor: T.float32, Y: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("Y"):
            vi = T.axis.spatial(100, i)
            Y[vi] = X[vi] * factor
