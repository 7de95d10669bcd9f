# Ranges decide conditions and divisions.
# pass: simplify
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(8):
        for j in range(8):
            if i * 8 + j < 64:
                B[(i * 8 + j) // 8 * 8 + (i * 8 + j) % 8] = A[i * 8 + j]
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i, j in T.grid(8, 8):
        B[i * 8 + j] = A[i * 8 + j]
