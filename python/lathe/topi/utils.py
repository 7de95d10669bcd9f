"""Numbers out of shapes, as programs for TVM's topi ask for them."""
import functools
import operator

from lathe import arith
from lathe.tir.expr import IntImm, Select
from lathe.tir.op import const


def get_const_int(expr):
    """The number that the expression is; ValueError where it is none."""
    if isinstance(expr, int):
        return expr
    value = expr if isinstance(expr, IntImm) else arith.Analyzer().simplify(expr)
    if not isinstance(value, IntImm):
        raise ValueError("Expect value to be constant int")
    return int(value.value)


def get_const_tuple(in_tuple):
    """The same for each of several; what is no number stays as it is."""
    return tuple(get_const_int(each) if isinstance(each, (int, IntImm)) else each for each in in_tuple)


def get_const_float(expr):
    return float(expr.value if hasattr(expr, "value") else expr)


def equal_const_int(expr, value):
    return isinstance(expr, (int, IntImm)) and get_const_int(expr) == value


def prod(extents):
    """Their product; of none, 1."""
    first, *rest = list(extents) or [const(1, "int32")]
    return functools.reduce(operator.mul, rest, first)


def const_vector(vector, name="const_vector"):
    """A tensor of the elements of an array of numpy's with one dimension."""
    from lathe import te
    values = [const(value, str(vector.dtype)) for value in vector.tolist()]

    def element(i):
        chosen = const(0, str(vector.dtype))
        for place, value in enumerate(values):
            chosen = Select(i.equal(place), value, chosen)
        return chosen

    return te.compute(vector.shape, element, name)


def simplify(expr):
    return expr if isinstance(expr, (int, float)) else arith.Analyzer().simplify(expr)


def traverse_inline(s, final_op, callback):
    """Inlines what is injective between `final_op` and others; calls `callback` with the operations, readers last."""
    seen = []

    def visit(op):
        if any(op.same_as(each) for each in seen):
            return
        seen.append(op)
        if "injective" in op.tag or "elemwise" in op.tag or "broadcast" in op.tag:
            if not any(op.same_as(output) for output in s.outputs):
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if tensor.op.input_tensors:
                    visit(tensor.op)
        callback(op)

    visit(final_op)
