# The loops of threadIdx.x share the outer loop of threadIdx.y, which goes itself: both get one loop in its place.
# pass: lift_thread_binding
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 64), "float32"), C: T.Buffer((128, 64), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for ty in T.thread_binding(8, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                for k in range(8):
                    with T.block("tile"):
                        T.reads(A[bx * 64:bx * 64 + 64, k * 8:k * 8 + 8])
                        T.writes(C[bx * 64 + ty * 8 + tx, k * 8])
                        S = T.alloc_buffer((128, 64), scope="shared")
                        for a in T.thread_binding(8, thread="threadIdx.y", annotations={"pragma": 1}):
                            for b in T.thread_binding(8, thread="threadIdx.x"):
                                S[bx * 64 + a * 8 + b, k * 8] = A[bx * 64 + a * 8 + b, k * 8]
                        C[bx * 64 + ty * 8 + tx, k * 8] = S[bx * 64 + 63 - ty * 8 - tx, k * 8]
# expected:
@T.prim_func
def main(A: T.Buffer((128, 64), "float32"), C: T.Buffer((128, 64), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for ty in T.thread_binding(8, thread="threadIdx.y", annotations={"pragma": 1}):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                for k in range(8):
                    with T.block("tile"):
                        S = T.alloc_buffer((128, 64), "float32", scope="shared")
                        T.reads(A[bx * 64:bx * 64 + 64, k * 8:k * 8 + 8])
                        T.writes(C[bx * 64 + ty * 8 + tx, k * 8])
                        S[bx * 64 + ty * 8 + tx, k * 8] = A[bx * 64 + ty * 8 + tx, k * 8]
                        C[bx * 64 + ty * 8 + tx, k * 8] = S[bx * 64 + 63 - ty * 8 - tx, k * 8]
