# The least value there is changes no maximum; any other may.
# pass: skip_zero_terms
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    for y in range(9):
        for k in range(3):
            B[y] = T.max(B[y], T.if_then_else(1 <= y + k, A[y + k - 1], T.min_value("float32")))
    for y in range(9):
        for k in range(3):
            C[y] = T.max(C[y], T.if_then_else(1 <= y + k, A[y + k - 1], T.float32(-5)))
# expected:
@T.prim_func
def main(A: T.Buffer((9,), "float32"), B: T.Buffer((9,), "float32"), C: T.Buffer((9,), "float32")):
    for y, k in T.grid(9, 3):
        if 1 <= y + k:
            B[y] = T.max(B[y], A[y + k - 1])
    for y, k in T.grid(9, 3):
        C[y] = T.max(C[y], T.if_then_else(1 <= y + k, A[y + k - 1], T.float32(-5.0)))
