"""Expressions of TensorIR. C++ decides types and folds constants; here are the names and the operators."""
from lathe import _lib
from lathe.ir.module import GlobalVar
from lathe.ir.type import PointerType, PrimType
from lathe.runtime.object import Object, register_object


def div_ambiguity_error():
    """What a division of integers is refused with."""
    return RuntimeError('divide: expected floats around "/"; write //, tir.truncdiv or tir.indexdiv')


def _operator(name):
    def forward(self, other):
        return _lib.fold_binary(name, self, other)

    return forward


def _reflected(name):
    def backward(self, other):
        return _lib.fold_binary(name, other, self)

    return backward


def _call(name):
    return lambda self, other: _lib.call_op(name, [self, other])


def _reflected_call(name):
    return lambda self, other: _lib.call_op(name, [other, self])


class ExprOp:
    """Operators that make expressions."""

    __slots__ = ()
    __add__, __radd__ = _operator("Add"), _reflected("Add")
    __sub__, __rsub__ = _operator("Sub"), _reflected("Sub")
    __mul__, __rmul__ = _operator("Mul"), _reflected("Mul")
    __floordiv__, __rfloordiv__ = _operator("FloorDiv"), _reflected("FloorDiv")
    __mod__, __rmod__ = _operator("FloorMod"), _reflected("FloorMod")
    __lt__, __le__, __gt__, __ge__ = _operator("LT"), _operator("LE"), _operator("GT"), _operator("GE")
    __lshift__, __rlshift__ = _call("shift_left"), _reflected_call("shift_left")
    __rshift__, __rrshift__ = _call("shift_right"), _reflected_call("shift_right")
    __and__, __rand__ = _call("bitwise_and"), _reflected_call("bitwise_and")
    __or__, __ror__ = _call("bitwise_or"), _reflected_call("bitwise_or")
    __xor__, __rxor__ = _call("bitwise_xor"), _reflected_call("bitwise_xor")
    __hash__ = Object.__hash__

    def __truediv__(self, other):
        return _lib.divide(self, other)

    def __rtruediv__(self, other):
        return _lib.divide(other, self)

    def __neg__(self):
        return _lib.negate(self)

    def __invert__(self):
        return _lib.call_op("bitwise_not", [self])

    def __eq__(self, other):
        return EqualOp(self, other)

    def __ne__(self, other):
        return NotEqualOp(self, other)

    def __bool__(self):
        raise ValueError("an expression has no truth value while its variables have none; "
                         "write tir.all, tir.any or tir.Not for and, or, not")

    __nonzero__ = __bool__

    def equal(self, other):
        """The expression self == other."""
        return _lib.fold_binary("EQ", self, other)

    def astype(self, dtype, span=None):
        return _lib.cast(dtype, self)


class EqualOp(ExprOp):
    """What a == b gives: an expression where one is wanted, the answer of same_as where a bool is."""

    __slots__ = ("a", "b", "name")

    def __init__(self, a, b, name="EQ"):
        self.a, self.b, self.name = a, b, name

    def __bool__(self):
        return (isinstance(self.b, Object) and self.a.same_as(self.b)) == (self.name == "EQ")

    __nonzero__ = __bool__

    __hash__ = object.__hash__

    def asobject(self):
        return _lib.fold_binary(self.name, self.a, self.b)

    def __getattr__(self, attribute):
        return getattr(self.asobject(), attribute)

    def astype(self, dtype, span=None):
        return self.asobject().astype(dtype, span)

    def __repr__(self):
        return str(self.asobject())


class NotEqualOp(EqualOp):
    """What a != b gives."""

    __slots__ = ()

    def __init__(self, a, b):
        super().__init__(a, b, "NE")


class PrimExpr(ExprOp, Object):
    """Base of the expressions."""

    __slots__ = ()
    __hash__ = Object.__hash__


class ConstExpr(PrimExpr):
    """A number."""

    __slots__ = ()


@register_object("tir.IntImm")
class IntImm(ConstExpr):
    """An integer or boolean."""

    __slots__ = ()

    def __new__(cls, dtype, value, span=None):
        return _lib.IntImm(dtype, value)

    def __int__(self):
        return self.value

    __index__ = __int__

    def __hash__(self):
        return self.value

    def __bool__(self):
        return self.value != 0

    __nonzero__ = __bool__

    def __eq__(self, other):
        return _lib.fold_binary("EQ", self, other)

    def __ne__(self, other):
        return _lib.fold_binary("NE", self, other)


@register_object("tir.FloatImm")
class FloatImm(ConstExpr):
    """A number of a float type."""

    __slots__ = ()

    def __new__(cls, dtype, value, span=None):
        return _lib.FloatImm(dtype, value)

    def __float__(self):
        return self.value


@register_object("tir.StringImm")
class StringImm(ConstExpr):
    """A text."""

    __slots__ = ()

    def __new__(cls, value, span=None):
        return _lib.StringImm(value)

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, StringImm) else other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.value)


@register_object("tir.Var")
class Var(PrimExpr):
    """A variable, known by its identity. dtype: the type's name, or a PointerType."""

    __slots__ = ()

    def __new__(cls, name, dtype="int32", span=None):
        if isinstance(dtype, PointerType):
            return _lib.pointer_var(name, dtype.element_type.dtype, dtype.storage_scope or "global")
        return _lib.Var(name, dtype.dtype if isinstance(dtype, PrimType) else dtype)


@register_object("tir.SizeVar")
class SizeVar(Var):
    """A variable that is no less than 0."""

    __slots__ = ()

    def __new__(cls, name, dtype="int32", span=None):
        return _lib.SizeVar(name, dtype)


class BinaryOpExpr(PrimExpr):
    """a and b have one type; constructors fold nothing."""

    __slots__ = ()

    def __new__(cls, a, b, span=None):
        return _lib.make_binary(cls.__name__, a, b)


class CmpExpr(BinaryOpExpr):
    """A comparison."""

    __slots__ = ()


class LogicalExpr(PrimExpr):
    """A combination of booleans."""

    __slots__ = ()


def _binary(name, *bases):
    """The class of one binary operation."""
    cls = type(name, bases, {"__slots__": (), "__doc__": f"The operation {name}.", "__module__": __name__})
    return register_object("tir." + name)(cls)


Add, Sub, Mul, Div = (_binary(name, BinaryOpExpr) for name in ("Add", "Sub", "Mul", "Div"))
Mod, FloorDiv, FloorMod = (_binary(name, BinaryOpExpr) for name in ("Mod", "FloorDiv", "FloorMod"))
Min, Max = (_binary(name, BinaryOpExpr) for name in ("Min", "Max"))
EQ, NE, LT, LE, GT, GE = (_binary(name, CmpExpr) for name in ("EQ", "NE", "LT", "LE", "GT", "GE"))
And, Or = (_binary(name, BinaryOpExpr, LogicalExpr) for name in ("And", "Or"))


@register_object("tir.Not")
class Not(LogicalExpr):
    """The opposite of a boolean."""

    __slots__ = ()

    def __new__(cls, a, span=None):
        return _lib.Not(a)


@register_object("tir.Cast")
class Cast(PrimExpr):
    """A value as another type."""

    __slots__ = ()

    def __new__(cls, dtype, value, span=None):
        return _lib.Cast(dtype, value)


@register_object("tir.Select")
class Select(PrimExpr):
    """One of two values; both are evaluated."""

    __slots__ = ()

    def __new__(cls, condition, true_value, false_value, span=None):
        return _lib.Select(condition, true_value, false_value)


@register_object("tir.BufferLoad")
class BufferLoad(PrimExpr):
    """An element of a buffer."""

    __slots__ = ()

    def __new__(cls, buffer, indices, predicate=None, span=None):
        return _lib.BufferLoad(buffer, indices, predicate)


@register_object("tir.Ramp")
class Ramp(PrimExpr):
    """The vector base, base + stride, ..."""

    __slots__ = ()

    def __new__(cls, base, stride, lanes, span=None):
        return _lib.Ramp(base, stride, lanes)


@register_object("tir.Broadcast")
class Broadcast(PrimExpr):
    """The vector of `lanes` times the value."""

    __slots__ = ()

    def __new__(cls, value, lanes, span=None):
        return _lib.Broadcast(value, lanes)


@register_object("tir.Let")
class Let(PrimExpr):
    """An expression in which a variable has a value."""

    __slots__ = ()

    def __new__(cls, var, value, body, span=None):
        return _lib.Let(var, value, body)


@register_object("tir.Shuffle")
class Shuffle(PrimExpr):
    """Lanes of vectors, put in order by constants."""

    __slots__ = ()

    def __new__(cls, vectors, indices, span=None):
        return _lib.Shuffle(vectors, indices)


@register_object("tir.Reduce")
class Reduce(PrimExpr):
    """A reduction over axes, as an expression."""

    __slots__ = ()

    def __new__(cls, combiner, src, rdom, condition, value_index, init=None, span=None):
        return _lib.Reduce(combiner, src, rdom, condition, value_index, init or [])


@register_object("tir.CommReducer")
class CommReducer(Object):
    """How two values are combined: result of lhs and rhs, and what changes nothing."""

    __slots__ = ()

    def __new__(cls, lhs, rhs, result, identity_element, span=None):
        return _lib.CommReducer(lhs, rhs, result, identity_element)


@register_object("tir.Call")
class Call(PrimExpr):
    """A call of an operation, by the operation or its name, or of a function of the module, by its GlobalVar."""

    __slots__ = ()

    def __new__(cls, dtype, op, args, span=None):
        return _lib.FuncCall(dtype, op.name_hint, args) if isinstance(op, GlobalVar) else _lib.Call(dtype, op, args)


class CallEffectKind:
    """What a call does besides giving a value."""

    ExprAnnotation, Pure, ReadState, UpdateState = (IntImm("int32", kind) for kind in range(4))
    Opaque = UpdateState


@register_object("tir.IterVar")
class IterVar(ExprOp, Object):
    """An iteration variable of a block, or a thread axis."""

    __slots__ = ()
    DataPar, ThreadIndex, CommReduce, Ordered, DimInfo = 0, 1, 2, 3, 4
    Unrolled, Vectorized, Parallelized, Tensorized = 5, 6, 7, 8

    def __new__(cls, dom, var, iter_type, thread_tag="", span=None):
        if isinstance(dom, (list, tuple)):
            dom = _lib.range_of_ends(*dom)
        if isinstance(var, str):
            var = Var(var, "int32" if dom is None else dom.extent.dtype)
        return _lib.IterVar(dom, var, iter_type, thread_tag)
