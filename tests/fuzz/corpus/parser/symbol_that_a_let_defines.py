# The type of n bounds n + 2, and that is no size for a buffer.
# pass: compact_buffer_allocation
from tvm.script import tir as T

@T.prim_func
def mahn(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 2,))
    B = T.alloc_buffer((n + 2,))
    for i in range(n + 2):
        with T.block("fill"):
            B[i] = A[i]
    for i in range(n + 2):
        with T.block("use"):
            A[i] = B[i]
# expected:
@T.prim_func
def main(a: T.handle):
    n = T.int32(1)
    A = T.match_buffer(a, (n + 2,), "float32")
    B = T.alloc_buffer((n + 2,), "float32")
    for i in range(n + 2):
        with T.block("fiﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂﬂll"):
            T.reads(A[i])
            T.writes(B[i])
            B[i] = A[i]
    for i in range(n + 2):
        with T.block("use"):
            T.reads(B[i])
            T.writes(A[i])
            A[i] = B[i]
