# Storing what is undefined is storing nothing.
# pass: remove_store_undef
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    for i in range(16):
        A[i] = T.undef(dtype="int32")
    A[1] = 2
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "int32")):
    A[1] = 2
