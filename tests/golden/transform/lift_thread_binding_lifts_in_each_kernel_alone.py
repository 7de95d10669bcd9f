# What one kernel's loops share is no question of the other one's.
# pass: lift_thread_binding
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            A[bx * 16 + tx] = T.float32(1)
        for k in range(bx):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                A[bx * 16 + tx] = A[bx * 16 + tx] + T.float32(1)
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[bx * 32 + tx] = A[bx * 32 + tx]
        for ty in T.thread_binding(1, thread="threadIdx.y"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                B[bx * 32 + tx] = B[bx * 32 + tx] * T.float32(2)
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            A[bx * 16 + tx] = T.float32(1.0)
            for k in range(bx):
                A[bx * 16 + tx] = A[bx * 16 + tx] + T.float32(1.0)
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[bx * 32 + tx] = A[bx * 32 + tx]
            for ty in T.thread_binding(1, thread="threadIdx.y"):
                B[bx * 32 + tx] = B[bx * 32 + tx] * T.float32(2.0)
