# Rows instead of columns, exchanged by blocks of two lanes and of one; what else is read stays.
# pass: transpose_tiles
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), bias: T.Buffer((4,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(2):
        for u in T.unroll(4):
            B[T.Ramp(u * 8 + i * 4, 1, 4)] = A[T.Ramp(u + i * 32, 8, 4)] + T.Broadcast(bias[u], 4)
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), bias: T.Buffer((4,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(2):
        row: T.float32x4 = A[T.Ramp(i * 32, 1, 4)]
        row_1: T.float32x4 = A[T.Ramp(i * 32 + 8, 1, 4)]
        row_2: T.float32x4 = A[T.Ramp(i * 32 + 16, 1, 4)]
        row_3: T.float32x4 = A[T.Ramp(i * 32 + 24, 1, 4)]
        part: T.float32x4 = T.Shuffle([row, row_1], [0, 4, 1, 5])
        part_1: T.float32x4 = T.Shuffle([row, row_1], [2, 6, 3, 7])
        part_2: T.float32x4 = T.Shuffle([row_2, row_3], [0, 4, 1, 5])
        part_3: T.float32x4 = T.Shuffle([row_2, row_3], [2, 6, 3, 7])
        part_4: T.float32x4 = T.Shuffle([part, part_2], [0, 1, 4, 5])
        part_5: T.float32x4 = T.Shuffle([part, part_2], [2, 3, 6, 7])
        part_6: T.float32x4 = T.Shuffle([part_1, part_3], [0, 1, 4, 5])
        part_7: T.float32x4 = T.Shuffle([part_1, part_3], [2, 3, 6, 7])
        B[T.Ramp(T.Mul(0, 8) + i * 4, 1, 4)] = part_4 + T.Broadcast(bias[0], 4)
        B[T.Ramp(T.Mul(1, 8) + i * 4, 1, 4)] = part_5 + T.Broadcast(bias[1], 4)
        B[T.Ramp(T.Mul(2, 8) + i * 4, 1, 4)] = part_6 + T.Broadcast(bias[2], 4)
        B[T.Ramp(T.Mul(3, 8) + i * 4, 1, 4)] = part_7 + T.Broadcast(bias[3], 4)
