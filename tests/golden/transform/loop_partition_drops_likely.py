# What T.likely says is of use until loops are partitioned.
# pass: loop_partition
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "int32"), n: T.int32):
    if T.likely(n > 4):
        A[n] = 1
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "int32"), n: T.int32):
    if n > 4:
        A[n] = 1
