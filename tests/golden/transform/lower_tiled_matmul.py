# The whole pipeline: a tile in registers, vectorised columns, parallel rows.
# pass: lower
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    with T.block("root"):
        acc = T.alloc_buffer((32, 32), scope="register")
        for i0 in T.parallel(8):
            for j0 in range(4):
                for i in range(4):
                    for j in T.vectorized(8):
                        with T.block("init"):
                            vi = T.axis.spatial(32, i0 * 4 + i)
                            vj = T.axis.spatial(32, j0 * 8 + j)
                            acc[vi, vj] = T.float32(0)
                for k in range(64):
                    for i in T.unroll(4):
                        for j in T.vectorized(8):
                            with T.block("update"):
                                vi = T.axis.spatial(32, i0 * 4 + i)
                                vj = T.axis.spatial(32, j0 * 8 + j)
                                vk = T.axis.reduce(64, k)
                                acc[vi, vj] = acc[vi, vj] + A[vi, vk] * B[vk, vj]
                for i in range(4):
                    for j in T.vectorized(8):
                        with T.block("write"):
                            vi = T.axis.spatial(32, i0 * 4 + i)
                            vj = T.axis.spatial(32, j0 * 8 + j)
                            C[vi, vj] = acc[vi, vj]
# expected:
@T.prim_func
def main(A: T.Buffer((32, 64), "float32"), B: T.Buffer((64, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i0 in T.parallel(8):
        for j0 in range(4):
            acc = T.decl_buffer((32,), "float32", scope="register")
            acc[T.Ramp(0, 1, 8)] = T.Broadcast(T.float32(0.0), 8)
            acc[T.Ramp(8, 1, 8)] = T.Broadcast(T.float32(0.0), 8)
            acc[T.Ramp(16, 1, 8)] = T.Broadcast(T.float32(0.0), 8)
            acc[T.Ramp(24, 1, 8)] = T.Broadcast(T.float32(0.0), 8)
            for k in range(64):
                acc[T.Ramp(0, 1, 8)] = acc[T.Ramp(0, 1, 8)] + T.Broadcast(A[i0 * 256 + k], 8) * B[T.Ramp(k * 32 + j0 * 8, 1, 8)]
                acc[T.Ramp(8, 1, 8)] = acc[T.Ramp(8, 1, 8)] + T.Broadcast(A[i0 * 256 + k + 64], 8) * B[T.Ramp(k * 32 + j0 * 8, 1, 8)]
                acc[T.Ramp(16, 1, 8)] = acc[T.Ramp(16, 1, 8)] + T.Broadcast(A[i0 * 256 + k + 128], 8) * B[T.Ramp(k * 32 + j0 * 8, 1, 8)]
                acc[T.Ramp(24, 1, 8)] = acc[T.Ramp(24, 1, 8)] + T.Broadcast(A[i0 * 256 + k + 192], 8) * B[T.Ramp(k * 32 + j0 * 8, 1, 8)]
            C[T.Ramp(i0 * 128 + j0 * 8, 1, 8)] = acc[T.Ramp(0, 1, 8)]
            C[T.Ramp(i0 * 128 + j0 * 8 + 32, 1, 8)] = acc[T.Ramp(8, 1, 8)]
            C[T.Ramp(i0 * 128 + j0 * 8 + 64, 1, 8)] = acc[T.Ramp(16, 1, 8)]
            C[T.Ramp(i0 * 128 + j0 * 8 + 96, 1, 8)] = acc[T.Ramp(24, 1, 8)]
