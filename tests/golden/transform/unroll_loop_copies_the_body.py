# One copy for each iteration.
# pass: unroll_loop
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
    for i in range(16):
        for u in T.unroll(4):
            B[i, u] = A[i, u]
# expected:
@T.prim_func
def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 4), "float32")):
    for i in range(16):
        B[i, 0] = A[i, 0]
        B[i, 1] = A[i, 1]
        B[i, 2] = A[i, 2]
        B[i, 3] = A[i, 3]
