"""Ranges and operations."""
from lathe import _lib
from lathe.runtime.object import Object, register_object


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

    def __repr__(self):
        return f'Op({self.name})'

    def astext(self):
        return self.name
