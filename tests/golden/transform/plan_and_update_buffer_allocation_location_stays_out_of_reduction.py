# The sum is carried from one k to the next: its buffer stays outside of k.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32")):
    S = T.alloc_buffer((16,))
    for i in range(16):
        for k in range(32):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk]
        with T.block("write"):
            vi = T.axis.spatial(16, i)
            B[vi] = S[vi]
# expected:
@T.prim_func
def main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block(""):
            S = T.alloc_buffer((16,), "float32")
            T.reads(A[i, 0:32])
            T.writes(B[i])
            for k in range(32):
                with T.block("sum"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(A[vi, vk])
                    T.writes(S[vi])
                    with T.init():
                        S[vi] = T.float32(0.0)
                    S[vi] = S[vi] + A[vi, vk]
            with T.block("write"):
                vi = T.axis.spatial(16, i)
                T.reads(S[vi])
                T.writes(B[vi])
                B[vi] = S[vi]
