# Both values of a Select are evaluated: the load's clamp does not lose to the condition. T.if_then_else evaluates one.
# pass: simplify
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Select(1 <= i and i <= 6, A[T.max(T.min(i - 1, 5), 0)], T.float32(0))
        C[i] = T.if_then_else(1 <= i and i <= 6, A[T.max(T.min(i - 1, 5), 0)], T.float32(0))
# expected:
@T.prim_func
def main(A: T.Buffer((6,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Select(1 <= i and i <= 6, A[T.max(T.min(i - 1, 5), 0)], T.float32(0.0))
        C[i] = T.if_then_else(1 <= i and i <= 6, A[i - 1], T.float32(0.0))
