# Only eight elements of T are touched in one iteration.
# pass: compact_buffer_allocation
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(16):
        with T.block("tile"):
            T_1 = T.alloc_buffer((128,))
            for j in range(8):
                T_1[i * 8 + j] = A[i * 8 + j]
            for k in range(8):
                B[i * 8 + k] = T_1[i * 8 + k]
# expected:
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(16):
        with T.block("tile"):
            T_1 = T.alloc_buffer((8,), "float32")
            T.reads(A[i * 8:i * 8 + 8])
            T.writes(B[i * 8:i * 8 + 8])
            for j in range(8):
                T_1[j] = A[i * 8 + j]
            for k in range(8):
                B[i * 8 + k] = T_1[k]
