# No square; lanes a few elements apart; steps that are no neighbours; a guard; the buffer that is written.
# pass: transpose_tiles
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for u in T.unroll(2):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u, 8, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u, 4, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u * 2, 8, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = T.if_then_else(u < 3, A[T.Ramp(u, 8, 4)], T.Broadcast(T.float32(0), 4))
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = B[T.Ramp(u + 128, 8, 4)]
# expected:
@T.prim_func
def main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for u in T.unroll(2):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u, 8, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u, 4, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = A[T.Ramp(u * 2, 8, 4)]
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = T.if_then_else(u < 3, A[T.Ramp(u, 8, 4)], T.Broadcast(T.float32(0.0), 4))
    for u in T.unroll(4):
        B[T.Ramp(u * 4, 1, 4)] = B[T.Ramp(u + 128, 8, 4)]
