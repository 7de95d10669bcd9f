# Of a logarithm: what is 0, infinite or no number is chosen at the end. Two calls have variables of their own.
# pass: legalize_math
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
    for i in range(64):
        B[i] = T.log(A[i]) + T.round(A[i])
# expected:
@T.prim_func
def main(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16")):
    for i in range(64):
        x = T.float32()
        is_small = T.bool()
        offset = T.uint32()
        steps = T.int32()
        f = T.float32()
        exponent = T.float32()
        z = T.float32()
        p = T.float32()
        y = T.float32()
        log = T.float32()
        x_1 = T.float32()
        magnitude_1 = T.float32()
        whole_1 = T.float32()
        B[i] = T.Let(T.Let(T.Let(T.Let(T.Let(T.Let(T.Let(T.Let(T.Let(T.Let(T.Cast("float16", T.Select(not x >= T.float32(0.0), T.float32("nan"), T.Select(x == T.float32("inf"), x, T.Select(x == T.float32(0.0), T.float32("-inf"), log)))), where={log: T.fmuladd(exponent, T.float32(0.693359375), f + T.fmuladd(z, T.float32(-0.5), y))}), where={y: T.fmuladd(exponent, T.float32(-0.00021219444), z * f * p)}), where={p: T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.fmuladd(T.float32(0.070376836292), f, T.float32(-0.1151461031)), f, T.float32(0.1167699874)), f, T.float32(-0.12420140846)), f, T.float32(0.14249322787)), f, T.float32(-0.16668057665)), f, T.float32(0.20000714765)), f, T.float32(-0.24999993993)), f, T.float32(0.33333331174))}), where={z: f * f}), where={exponent: T.Cast("float32", steps - T.Select(is_small, 25, 0))}), where={f: T.reinterpret("float32", T.bitwise_and(offset, T.uint32(8388607)) + T.uint32(1060439283)) - T.float32(1.0)}), where={steps: T.Cast("int32", T.shift_right(offset, T.uint32(23))) - 127}), where={offset: T.reinterpret("uint32", T.Select(is_small, x * T.float32(33554432.0), x)) + T.uint32(4913933)}), where={is_small: x < T.float32(1.1754943508222875e-38)}), where={x: T.Cast("float32", A[i])}) + T.Let(T.Let(T.Let(T.Cast("float16", T.copysign(T.Select(magnitude_1 - whole_1 >= T.float32(0.5), whole_1 + T.float32(1.0), whole_1), x_1)), where={whole_1: T.floor(magnitude_1)}), where={magnitude_1: T.abs(x_1)}), where={x_1: T.Cast("float32", A[i])})
