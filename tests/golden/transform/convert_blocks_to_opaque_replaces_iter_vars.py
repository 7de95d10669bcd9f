# Iter vars become their values; the predicate stays.
# pass: convert_blocks_to_opaque
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i, j in T.grid(7, 16):
        with T.block("copy"):
            v = T.axis.spatial(100, i * 16 + j)
            T.where(i * 16 + j < 100)
            B[v] = A[v]
# expected:
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i, j in T.grid(7, 16):
        with T.block("copy"):
            T.where(i * 16 + j < 100)
            T.reads(A[i * 16 + j])
            T.writes(B[i * 16 + j])
            B[i * 16 + j] = A[i * 16 + j]
