# Contiguous, strided and common values.
# pass: vectorize_loop
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((256,), "float32")):
    for i in range(16):
        for v in T.vectorized(4):
            B[i * 4 + v] = A[i * 4 + v] * A[i] + C[v * 64 + i]
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), C: T.Buffer((256,), "float32")):
    for i in range(16):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(A[i], 4) + C[T.Ramp(i, 64, 4)]
