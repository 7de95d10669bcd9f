# Neither the domain of a block's iter var nor its predicate outlives the block.
# pass: simplify
from tvm.script import tir as T

@T.prim_func
def main(n: T.int32, A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    with T.block("first"):
        vi = T.axis.spatial(n, 0)
        T.where(n > 3)
        B[vi] = A[vi]
    if n > 2:
        B[0] = A[n - 1]
# expected:
@T.prim_func
def main(n: T.int32, A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    with T.block("first"):
        vi = T.axis.spatial(n, 0)
        T.where(3 < n)
        T.reads(A[vi])
        T.writes(B[vi])
        B[vi] = A[vi]
    if 2 < n:
        B[0] = A[n - 1]
