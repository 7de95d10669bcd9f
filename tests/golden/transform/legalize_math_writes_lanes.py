# A sigmoid of lanes is arithmetic of lanes; what is used twice is a let. What machines have stays.
# pass: legalize_math
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(4):
        B[T.Ramp(i * 16, 1, 16)] = T.sqrt(T.sigmoid(A[T.Ramp(i * 16, 1, 16)]))
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(4):
        clamped = T.float32x16()
        shifted = T.float32x16()
        n = T.float32x16()
        r = T.float32x16()
        B[T.Ramp(i * 16, 1, 16)] = T.sqrt(T.Let(T.Let(T.Let(T.Let(T.Broadcast(T.float32(1.0), 16) / (T.Broadcast(T.float32(1.0), 16) + T.scalef(T.fmuladd(r * r, T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.Broadcast(T.float32(0.0013814610429), 16), r, T.Broadcast(T.float32(0.0083687109873), 16)), r, T.Broadcast(T.float32(0.041668388993), 16)), r, T.Broadcast(T.float32(0.16666521132), 16)), r, T.Broadcast(T.float32(0.4999999404), 16)), r + T.Broadcast(T.float32(1.0), 16)), n)), where={r: T.fmuladd(n, T.Broadcast(T.float32(0.00021219444), 16), T.fmuladd(n, T.Broadcast(T.float32(-0.693359375), 16), clamped))}), where={n: shifted - T.Broadcast(T.float32(12582912.0), 16)}), where={shifted: T.fmuladd(clamped, T.Broadcast(T.float32(1.4426950408889634), 16), T.Broadcast(T.float32(12582912.0), 16))}), where={clamped: T.min(T.max(T.Broadcast(T.float32(-0.0), 16) - A[T.Ramp(i * 16, 1, 16)], T.Broadcast(T.float32(-105.0), 16)), T.Broadcast(T.float32(89.5), 16))}))
