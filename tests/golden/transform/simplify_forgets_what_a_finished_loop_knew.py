# That a loop ran says nothing about what follows it: n may be 0.
# pass: simplify
from tvm.script import tir as T

@T.prim_func
def main(n: T.int32, A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(n):
        B[i] = A[i]
    if n > 0:
        B[0] = A[n - 1]
# expected:
@T.prim_func
def main(n: T.int32, A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(n):
        B[i] = A[i]
    if 0 < n:
        B[0] = A[n - 1]
