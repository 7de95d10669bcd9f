# Rows of 64 elements begin 8 after a multiple of 32: 72 apart.
# pass: compact_buffer_allocation
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i in range(4):
        with T.block("tile"):
            T_1 = T.alloc_buffer((64, 64))
            for j, k in T.grid(16, 64):
                with T.block("in"):
                    T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
                    T_1[i * 16 + j, k] = A[i * 16 + j, k]
            for j, k in T.grid(16, 64):
                with T.block("out"):
                    B[i * 16 + j, k] = T_1[i * 16 + j, k]
# expected:
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i in range(4):
        with T.block("tile"):
            T_1 = T.alloc_buffer((16, 64), "float32", strides=(72, 1))
            T.reads(A[i * 16:i * 16 + 16, 0:64])
            T.writes(B[i * 16:i * 16 + 16, 0:64])
            for j, k in T.grid(16, 64):
                with T.block("in"):
                    T.reads(A[i * 16 + j, k])
                    T.writes(T_1[j, k])
                    T.block_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
                    T_1[j, k] = A[i * 16 + j, k]
            for j, k in T.grid(16, 64):
                with T.block("out"):
                    T.reads(T_1[j, k])
                    T.writes(B[i * 16 + j, k])
                    B[i * 16 + j, k] = T_1[j, k]
