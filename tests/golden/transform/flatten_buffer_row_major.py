# Row-major positions; parameters keep their shape.
# pass: flatten_buffer
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 8, 4), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j, k in T.grid(16, 8, 4):
        B[i, j * 4 + k] = A[i, j, k]
# expected:
@T.prim_func
def main(A: T.Buffer((16, 8, 4), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j, k in T.grid(16, 8, 4):
        B[i * 32 + (j * 4 + k)] = A[i * 32 + j * 4 + k]
