"""The dialect T: functions of TensorIR. Inside a decorated function these names belong to the parser; here they have
the values that Python sees: in annotations, in helpers, at module level."""
from lathe import _lib
from lathe.ir.expr import Range
from lathe.ir.type import PointerType, PrimType
from lathe.script.decorator import macro, prim_func
from lathe.tir import expr as _expr
from lathe.tir import op as _op
from lathe.tir.buffer import decl_buffer
from lathe.tir.op import *  # noqa: F401,F403
from lathe.tir.op import all, any, ceildiv, max, min, power
from lathe.tir.expr import (EQ, GE, GT, LE, LT, NE, Add, And, Broadcast, BufferLoad, Call, Cast, CommReducer, Div, FloatImm, FloorDiv,
                            FloorMod, IntImm, IterVar, Let, Max, Min, Mod, Mul, Not, Or, Ramp, Select, Shuffle, SizeVar, StringImm,
                            Sub, Var)


def _typed(dtype):
    def make(expr=None, is_size_var=False):
        if expr is not None:
            return _lib.cast(dtype, expr)
        return SizeVar("", dtype) if is_size_var else Var("", dtype)

    make.__name__ = make.__qualname__ = dtype
    make.__doc__ = f"The value as {dtype}; without one a variable."
    make.dtype = dtype
    return make


_ELEMENTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
             "float8_e4m3fn", "float8_e5m2", "uint1", "int4", "uint4")
_LANES = ("", "x4", "x8", "x16", "x32", "x64")
for _name in _ELEMENTS:
    for _lanes in _LANES:
        globals()[_name + _lanes] = _typed(_name + _lanes)
boolean = bool = _typed("bool")
bfloat16 = _typed("bfloat16")
e4m3_float8, e5m2_float8 = _typed("float8_e4m3fn"), _typed("float8_e5m2")  # v0.18's names.


void = _typed("void")


def handle(dtype=None, storage_scope="global", *, is_size_var=False):
    """A variable that points to memory."""
    return Var("", "handle" if dtype is None else PointerType(PrimType(_dtype_of(dtype)), storage_scope))


handle.dtype = "handle"
Ptr = handle


def ptr(dtype, storage_scope="global", is_size_var=False):
    """A pointer to elements of that type."""
    return handle(dtype, storage_scope, is_size_var=is_size_var)


def _dtype_of(dtype):
    return getattr(dtype, "dtype", dtype)


class _BufferType:
    """T.Buffer(shape, dtype), or T.Buffer[shape, dtype]: the type of a buffer parameter; also a buffer of that type."""

    def __call__(self, shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=0,
                 offset_factor=0, buffer_type="", axis_separators=None):
        strides = [Var(each) if isinstance(each, str) else each for each in strides or []]
        return decl_buffer(shape, _dtype_of(dtype), "buffer", data, strides, elem_offset, scope, align or -1,
                           offset_factor, buffer_type, axis_separators)

    def __getitem__(self, arguments):
        shape, dtype = arguments if isinstance(arguments, tuple) and len(arguments) == 2 else (arguments, "float32")
        return self(shape, dtype)


Buffer = _BufferType()
_allocations = []  # What helpers have allocated for the function that is read.


def alloc_buffer(shape, dtype="float32", data=None, strides=None, elem_offset=None, scope="global", align=-1,
                 offset_factor=0, buffer_type="default", axis_separators=None):
    """In a helper that a function calls while it is read: a buffer of the block around the call."""
    buffer = decl_buffer(shape, _dtype_of(dtype), "buffer", data, strides, elem_offset, scope, align, offset_factor,
                         buffer_type, axis_separators)
    _allocations.append(buffer)
    return buffer


sblock_alloc_buffer = alloc_buffer


def meta_var(value):
    """The value itself, which gets a name and no let."""
    return value


_FRAMES = ("Assert", "Else", "If", "LetStmt", "Then", "While", "allocate", "arg", "attr", "axis", "block", "block_attr",
           "buffer_store", "env_thread", "evaluate", "func_attr", "func_name", "func_ret", "grid", "init", "launch_thread",
           "match_buffer", "parallel", "reads", "sblock", "sblock_attr", "serial", "thread_binding", "unroll",
           "vectorized", "where", "writes")
_members = {}  # What of T a name may stand for that the parser alone can read: the name in T by the value's id.


def __getattr__(name):
    """The frames of an IRBuilder; in a decorated function the parser reads them, by these or other names."""
    if name not in _FRAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lathe.script.ir_builder import tir as frames
    return getattr(frames, name)


def member_name(value):
    """What the dialect calls `value` ("Buffer", "axis.spatial", "float32"), None where it is nothing of it."""
    if not _members:
        axis = __getattr__("axis")
        named = {"Buffer": Buffer, "handle": handle, "bool": boolean, "bfloat16": bfloat16, "axis": axis}
        named.update((name, __getattr__(name)) for name in _FRAMES)
        named.update((name + lanes, globals()[name + lanes]) for name in _ELEMENTS for lanes in _LANES)
        named.update((f"axis.{name}", getattr(axis, name)) for name in ("spatial", "reduce", "scan", "opaque", "remap"))
        _members.update((id(each), name) for name, each in named.items())
    return _members.get(id(value))


def comm_reducer(combiner, identity):
    """A reducer of as many values as there are identities."""
    sides = [[Var(side + str(i), each.dtype) for i, each in enumerate(identity)] for side in ("x", "y")]
    result = combiner(*sides[0], *sides[1])
    return CommReducer(*sides, result if isinstance(result, (list, tuple)) else [result], identity)


def target(target_config, host=None):
    from lathe.target import Target
    return Target(target_config, host)


def llvm_lookup_intrinsic_id(name):
    """As tvm.target.codegen has it."""
    from lathe.target import codegen
    return codegen.llvm_lookup_intrinsic_id(name)


def iter_var(var, dom, iter_type, thread_tag):
    """An axis; its kind is a name: "DataPar", "ThreadIndex", "CommReduce" ..."""
    return IterVar(dom, var, getattr(IterVar, iter_type), thread_tag)


def index_map(mapping, *, inverse_index_map=None, index_dtype="int64"):
    """What a function of indices does."""
    from lathe.tir.index_map import IndexMap
    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype)


inline = macro


def cast(value, dtype):
    return _lib.cast(dtype, value)


def ramp(base, stride, lanes):
    return Ramp(base, stride, lanes)


def broadcast(value, lanes):
    return Broadcast(value, lanes)
