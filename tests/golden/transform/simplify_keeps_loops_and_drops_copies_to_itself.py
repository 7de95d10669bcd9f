# A loop of one iteration stays a loop whose variable is known; A[0] = A[0] does nothing.
# pass: simplify
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    A[0] = A[0]
    for i in range(1):
        A[i] = T.float32(1)
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(1):
        A[0] = T.float32(1.0)
