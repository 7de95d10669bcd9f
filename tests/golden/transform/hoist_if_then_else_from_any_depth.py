# A whole condition leaves the loops that it does not name, from below one that stays.
# pass: hoist_if_then_else
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), n: T.int32):
    for i in range(8):
        A[i, 0] = T.float32(5)
        for j in range(8):
            if A[i, j] < T.float32(3):
                if n > 4:
                    A[i, j] = T.float32(1)
# expected:
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), n: T.int32):
    for i in range(8):
        A[i, 0] = T.float32(5.0)
        if 4 < n:
            for j in range(8):
                if A[i, j] < T.float32(3.0):
                    A[i, j] = T.float32(1.0)
