# Shapes and parameters become int32, too.
# pass: force_narrow_index_to_int32
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((T.int64(64),), "float32"), n: T.int64):
    for i in T.serial(n):
        A[i + T.int64(1)] = T.Cast("float32", n * T.int64(2))
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in range(n):
        A[i + 1] = T.Cast("float32", n * 2)
