# The first six tiles need no guard.
# pass: loop_partition
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(7):
        for j in range(16):
            if i * 16 + j < 100:
                B[i * 16 + j] = A[i * 16 + j]
# expected:
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i, j in T.grid(6, 16):
        B[i * 16 + j] = A[i * 16 + j]
    for i, j in T.grid(1, 16):
        if (i + 6) * 16 + j < 100:
            B[(i + 6) * 16 + j] = A[(i + 6) * 16 + j]
