# The init runs where every reduction iter var is at its minimum.
# pass: lower_init_block
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 32):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
# expected:
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 32):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(B[vi])
            if vk == 0:
                B[vi] = T.float32(0.0)
            B[vi] = B[vi] + A[vi, vk]
