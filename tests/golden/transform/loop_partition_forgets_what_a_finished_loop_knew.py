# The guard of n is kept: that the loop over n ran says nothing about the next one.
# pass: loop_partition
from tvm.script import tir as T

@T.prim_func
def main(n: T.int32, A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for k in range(n):
        B[k] = A[k]
    for i in range(7):
        for j in range(16):
            if i * 16 + j < 100 and 0 < n:
                B[i * 16 + j] = A[i * 16 + j]
# expected:
@T.prim_func
def main(n: T.int32, A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for k in range(n):
        B[k] = A[k]
    for i, j in T.grid(6, 16):
        if 0 < n:
            B[i * 16 + j] = A[i * 16 + j]
    for i, j in T.grid(1, 16):
        if (i + 6) * 16 + j < 100 and 0 < n:
            B[(i + 6) * 16 + j] = A[(i + 6) * 16 + j]
