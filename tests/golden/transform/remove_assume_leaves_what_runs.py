# A promise is nothing that runs; a branch with nothing else goes with it.
# pass: remove_assume
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "int32"), n: T.int32):
    T.evaluate(T.assume(n < 16))
    if n > 3:
        T.evaluate(T.assume(A[0] == 1))
    A[1] = 2
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "int32"), n: T.int32):
    A[1] = 2
