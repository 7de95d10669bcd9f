"""Ranges and operations."""
import abc

from lathe import _lib
from lathe.error import TVMError
from lathe.runtime.object import Object, register_object


class RelayExpr(abc.ABC):
    """What graphs are made of: functions, and their names in a module."""


@register_object("Range")
class Range(Object):
    """[min, min + extent). Range(e) is [0, e), Range(begin, end) is [begin, end)."""

    __slots__ = ()

    def __new__(cls, begin, end=None, span=None):
        return _lib.range_of_ends(0, begin) if end is None else _lib.range_of_ends(begin, end)

    @staticmethod
    def from_min_extent(min_value, extent, span=None):
        return _lib.Range(min_value, extent)


@register_object("Op")
class Op(Object):
    """An operation that Call calls."""

    __slots__ = ()

    @staticmethod
    def get(op_name):
        return _lib.op_get(op_name)

    @staticmethod
    def list_op_names():
        return ["tir." + name for name in _lib.op_names()]

    def __repr__(self):
        return f'Op({self.name})'

    def astext(self):
        return self.name

    def get_attr(self, attr_name):
        known = _attributes.get((self.name, attr_name))
        if known is None and attr_name == "TCallEffectKind":
            return _lib.IntImm("int32", 1 if _lib.is_pure_op(self) else 3)
        return None if known is None else known[0]

    def has_attr(self, attr_name):
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name, value, plevel=10):
        """Of two values the one of the higher plevel counts."""
        known = _attributes.get((self.name, attr_name))
        if known is not None and known[1] == plevel:
            raise TVMError(f"set_attr: {self.name} has {attr_name} of level {plevel} already; take another level or reset_attr")
        if known is None or known[1] < plevel:
            _attributes[self.name, attr_name] = (value, plevel)

    def reset_attr(self, attr_name):
        _attributes.pop((self.name, attr_name), None)


_attributes = {}  # What programs say of operations: (operation, name) to the value and its level.


def register_op_attr(op_name, attr_key, value=None, level=10):
    """Op.set_attr of the named operation; a decorator without a value."""

    def register(given):
        Op.get(op_name).set_attr(attr_key, given, level)
        return given

    return register if value is None else register(value)


def register_intrin_lowering(op_name, target, *, f=None, level=10):
    """What LowerIntrin makes of calls of the operation for a kind of target, or "default"."""
    return register_op_attr(op_name, target + ".FLowerIntrinsic", f, level)


def lowering_of(op_name, kind):
    """The rule that was registered for the kind of target, or for any."""
    for which in (kind, "default"):
        rule = _attributes.get((op_name, which + ".FLowerIntrinsic"))
        if rule is not None:
            return rule[0]
    return None
