# An access to the view becomes one to its source.
# pass: lower_match_buffer
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 4), "float32")):
    for i, r, c in T.grid(4, 4, 4):
        with T.block("tile"):
            V = T.match_buffer(A[i * 4:i * 4 + 4, 0:4], (4, 4))
            B[i * 4 + r, c] = V[r, c]
# expected:
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 4), "float32")):
    for i, r, c in T.grid(4, 4, 4):
        with T.block("tile"):
            T.reads(A[i * 4 + r, c])
            T.writes(B[i * 4 + r, c])
            B[i * 4 + r, c] = A[i * 4 + r, c]
