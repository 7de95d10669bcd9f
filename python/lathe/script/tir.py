"""The dialect T: functions of TensorIR. Inside a decorated function these names belong to the parser; here they have
the values that Python sees: in annotations, in helpers, at module level."""
from lathe import _lib
from lathe.ir.expr import Range
from lathe.script.decorator import prim_func
from lathe.tir import expr as _expr
from lathe.tir import op as _op
from lathe.tir.buffer import decl_buffer
from lathe.tir.op import *  # noqa: F401,F403
from lathe.tir.op import all, any, ceildiv, max, min, power
from lathe.tir.expr import (EQ, GE, GT, LE, LT, NE, Add, And, Broadcast, BufferLoad, Call, Cast, Div, FloatImm, FloorDiv,
                            FloorMod, IntImm, IterVar, Max, Min, Mod, Mul, Not, Or, Ramp, Select, StringImm, Sub, Var)


def _typed(dtype):
    def make(expr=None, is_size_var=False):
        return Var("", dtype) if expr is None else _lib.cast(dtype, expr)

    make.__name__ = make.__qualname__ = dtype
    make.__doc__ = f"The value as {dtype}; without one a variable."
    make.dtype = dtype
    return make


_ELEMENTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
for _name in _ELEMENTS:
    for _lanes in ("", "x4", "x8", "x16", "x32", "x64"):
        globals()[_name + _lanes] = _typed(_name + _lanes)
boolean = bool = _typed("bool")
bfloat16 = _typed("bfloat16")


def handle(dtype=None, storage_scope="global", *, is_size_var=False):
    """A variable that points to memory."""
    return Var("", "handle")


handle.dtype = "handle"


def Buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=0, offset_factor=0,
           buffer_type="", axis_separators=None):
    """The type of a buffer parameter; also a buffer of that type."""
    return decl_buffer(shape, dtype, "buffer", data, strides, elem_offset, scope, align or -1, offset_factor,
                       buffer_type, axis_separators)


def cast(value, dtype):
    return _lib.cast(dtype, value)


def ramp(base, stride, lanes):
    return Ramp(base, stride, lanes)


def broadcast(value, lanes):
    return Broadcast(value, lanes)
