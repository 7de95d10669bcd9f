# A condition that differs between lanes becomes a mask.
# pass: vectorize_loop
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(7):
        for v in T.vectorized(16):
            if i * 16 + v < 100:
                B[i * 16 + v] = A[i * 16 + v]
# expected:
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(7):
        if T.Ramp(i * 16, 1, 16) < T.Broadcast(100, 16):
            B[T.Ramp(i * 16, 1, 16)] = A[T.Ramp(i * 16, 1, 16)]
