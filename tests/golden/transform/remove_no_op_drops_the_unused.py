# Nobody uses t, and the loop does nothing.
# pass: remove_no_op
from tvm.script import tir as T

@T.prim_func
def main(B: T.Buffer((8,), "float32")):
    for i in range(8):
        T.evaluate(i)
    for i in range(8):
        B[i] = T.float32(1)
# expected:
@T.prim_func
def main(B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.float32(1.0)
