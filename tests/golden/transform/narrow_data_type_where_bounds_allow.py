# What reaches 2^31 stays int64; so does a parameter.
# pass: narrow_data_type
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int64):
    for i in T.serial(T.int64(16)):
        A[i * T.int64(4)] = T.float32(0)
    for j in T.serial(T.int64(4294967296)):
        A[j % T.int64(64)] = T.float32(0)
    for k in T.serial(n):
        A[k] = T.float32(0)
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), n: T.int64):
    for i in range(16):
        A[i * 4] = T.float32(0.0)
    for j in range(T.int64(4294967296)):
        A[j % T.int64(64)] = T.float32(0.0)
    for k in range(n):
        A[k] = T.float32(0.0)
