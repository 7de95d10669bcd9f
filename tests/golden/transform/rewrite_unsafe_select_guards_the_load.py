# A value that loads is evaluated only where it is chosen; numbers may be evaluated always.
# pass: rewrite_unsafe_select
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "float32"), i: T.int32):
    A[0] = T.Select(i < 16, A[i], T.float32(0))
    A[1] = T.Select(i < 16, T.float32(1), T.float32(0))
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "float32"), i: T.int32):
    A[0] = T.if_then_else(i < 16, A[i], T.float32(0.0))
    A[1] = T.Select(i < 16, T.float32(1.0), T.float32(0.0))
