"""Operations on expressions by TVM's names. Those of the compiler's table (compiler/ir/op.cc) are made from it."""
from lathe import _lib
from lathe.error import TVMError
from lathe.tir.buffer import Buffer
from lathe.tir.expr import EqualOp


def const(value, dtype=None, span=None):
    """The number as an expression: int32, float32 or bool unless dtype says otherwise."""
    return _lib.const(value, dtype)


def _fold(name):
    def call(a, b, span=None):
        return _lib.fold_binary(name, a, b)

    call.__name__ = call.__qualname__ = name.lower()
    call.__doc__ = f"{name} of a and b; numbers are folded."
    return call


div = _fold("Div")
truncmod = _fold("Mod")
floordiv, floormod, indexdiv, indexmod = _fold("FloorDiv"), _fold("FloorMod"), _fold("FloorDiv"), _fold("FloorMod")


def truncdiv(a, b, span=None):
    """a / b of integers, rounded to 0; numbers are folded."""
    quotient = div(a, b)
    if "float" in quotient.dtype:
        raise TVMError(f"truncdiv: expected integers, got {quotient.dtype}; write a / b")
    return quotient


def ceildiv(lhs, rhs, span=None):
    return _lib.ceildiv(lhs, rhs)


def _reducing(name):
    def call(first, *others, **options):
        for other in others:
            first = _lib.fold_binary(name, first, other)
        return first

    return call


max, min = _reducing("Max"), _reducing("Min")


def all(*args, span=None):
    """The conjunction of the conditions."""
    return _join("And", args)


def any(*args, span=None):
    """The disjunction of the conditions."""
    return _join("Or", args)


def _join(name, args):
    if not args:
        raise ValueError(f"{name.lower()}: at least one condition is needed")
    result = args[0].asobject() if isinstance(args[0], EqualOp) else args[0]
    for arg in args[1:]:
        result = _lib.fold_binary(name, result, arg)
    return result


def call_intrin(dtype, func_name, *args, span=None):
    """A call of an operation with its type; nothing is converted."""
    return _lib.Call(dtype, func_name, args)


call_pure_intrin = call_intrin


def call_packed(*args, span=None):
    """A call of a function that is registered by name."""
    return _lib.Call("int32", "tir.tvm_call_packed", [_packed(arg) for arg in args])


def call_cpacked(*args, span=None):
    """As call_packed, by TVM's C calling convention."""
    return _lib.Call("int32", "tir.tvm_call_cpacked", [_packed(arg) for arg in args])


def call_packed_lowered(*args, span=None):
    """As call_packed, with the stack of its arguments."""
    return _lib.Call("int32", "tir.tvm_call_packed_lowered", [_packed(arg) for arg in args])


def call_cpacked_lowered(*args, span=None):
    """As call_cpacked, with the stack of its arguments."""
    return _lib.Call("int32", "tir.tvm_call_cpacked_lowered", [_packed(arg) for arg in args])


def call_tir(global_var, *args):
    """A call of a function of the module."""
    return _lib.FuncCall("void", global_var.name_hint, args)


def _packed(arg):
    """A buffer as the array that a registered function takes."""
    if not isinstance(arg, Buffer):
        return arg
    shape = _lib.Call("handle", "tir.tvm_stack_make_shape", list(arg.shape))
    strides = _lib.Call("handle", "tir.tvm_stack_make_shape", list(arg.strides)) if len(arg.strides) else const(0)
    return _lib.Call("handle", "tir.tvm_stack_make_array",
                     [arg.data, shape, strides, len(arg.shape), const(0, arg.dtype), arg.elem_offset])


def _in_order(name, params, named):
    """The values of these parameters, which all are given by name or not at all."""
    if named.keys() - set(params):
        raise TypeError(f"{name}: no argument is named {', '.join(sorted(named.keys() - set(params)))}")
    return [named[each] for each in params if each in named]


def _operation(name):
    params = _lib.op_params(name)

    def call(*args, span=None, **named):
        return _lib.call_op(name, [*args, *_in_order(name, params[len(args):], named)])

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"A call of tir.{name}."
    return call


def undef(dtype="int32", span=None):
    """A value that nobody may ask for."""
    return _lib.call_op("undef", [dtype])


def get_vscale_expr(dtype, min_size=128):
    """How many numbers of this type a scalable vector of at least `min_size` bits holds."""
    bits = _lib.dtype_parts(getattr(dtype, "dtype", dtype))[1]
    return min_size // bits * _lib.call_op("vscale", [])


def dp4a(vec1, vec2, acc=0):
    """acc + the products of four bytes each."""
    return _lib.call_op("dp4a", [vec1, vec2, acc])


for _name in _lib.op_names():
    globals().setdefault(_name, _operation(_name))
power = _operation("pow")
