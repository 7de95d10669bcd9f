"""Reductions."""
from lathe import _lib
from lathe.te.tensor import TensorSlice
from lathe.tir import op
from lathe.tir.expr import IterVar


def _axes(axis):
    return list(axis) if isinstance(axis, (list, tuple)) else [axis]


def _is_axis(axis):
    """A list of none is one, too: then the source joins once."""
    return isinstance(axis, IterVar) or isinstance(axis, (list, tuple)) and all(isinstance(each, IterVar) for each in axis)


def _starts(init):
    return [] if init is None else list(init) if isinstance(init, (list, tuple)) else [init]


def _expr(value):
    return _lib.to_expr(value.asobject() if isinstance(value, TensorSlice) else value)


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A function reducer(expr, axis, where=None, init=None). Without axes it combines its arguments."""

    def reducer(expr, axis, where=None, init=None, *args):
        if _is_axis(axis):
            source = [_expr(part) for part in (expr if isinstance(expr, (list, tuple)) else [expr])]
            where = None if where is None else _expr(where)
            results = _lib.te.reduce_by(fcombine, fidentity, name, source, _axes(axis), where, _starts(init))
            return results[0] if len(results) == 1 else tuple(results)
        result = fcombine(expr, axis)
        for other in (where, init) + args:
            result = result if other is None else fcombine(result, other)
        return result

    reducer.__name__ = name
    return reducer


def _named(name, directly):
    def reducer(expr, axis, where=None, init=None, *args):
        if _is_axis(axis):
            where = None if where is None else _expr(where)
            return _lib.te.reduce_named(name, _expr(expr), _axes(axis), where, _starts(init))
        return directly(*[each for each in (expr, axis, where, init) + args if each is not None])

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"The {name} over the axes; of the arguments where there are none."
    return reducer


def _add(first, *others):
    for other in others:
        first = first + other
    return first


sum, max, min = _named("sum", _add), _named("max", op.max), _named("min", op.min)


def min_value(dtype, span=None):
    """The least value of the type, as a number."""
    return _lib.te.min_value(dtype)


def max_value(dtype, span=None):
    """The greatest value of the type, as a number."""
    return _lib.te.max_value(dtype)
