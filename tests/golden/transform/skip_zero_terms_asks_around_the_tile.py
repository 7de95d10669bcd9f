# What asks the loops around the tile is asked once for all of it; what asks an unrolled loop stays.
# pass: skip_zero_terms
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((9, 9), "float32"), W: T.Buffer((3,), "float32"), B: T.Buffer((9, 7), "float32")):
    for y in range(9):
        for k in range(3):
            for c in range(4):
                for x in T.unroll(7):
                    B[y, x] = B[y, x] + T.if_then_else(1 <= y + k and y + k < 10 and 1 <= x, A[y + k - 1, x], T.float32(0)) * W[k]
# expected:
@T.prim_func
def main(A: T.Buffer((9, 9), "float32"), W: T.Buffer((3,), "float32"), B: T.Buffer((9, 7), "float32")):
    for y, k in T.grid(9, 3):
        if 1 <= y + k and y + k < 10:
            for c in range(4):
                for x in T.unroll(7):
                    B[y, x] = B[y, x] + T.if_then_else(1 <= x, A[y + k - 1, x], T.float32(0.0)) * W[k]
