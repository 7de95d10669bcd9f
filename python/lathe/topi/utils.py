"""Numbers out of shapes, as programs for TVM's topi ask for them."""
import functools
import operator

from lathe import arith
from lathe.tir.expr import IntImm, Select
from lathe.tir.op import all as tir_all
from lathe.tir.op import any as tir_any
from lathe.tir.op import const, truncdiv, truncmod


def get_const_int(expr):
    """The number that the expression is; ValueError where it is none."""
    if isinstance(expr, int):
        return expr
    value = expr if isinstance(expr, IntImm) else arith.Analyzer().simplify(expr)
    if not isinstance(value, IntImm):
        raise ValueError("Expect value to be constant int")
    return int(value.value)


def axis_of(name, data, axis):
    """The axis, counted from the front; ValueError that names the operator where the tensor has none such."""
    rank = len(data.shape)
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise ValueError(f"{name}: {axis} is no axis of {data.op.name}, which has {rank} dimensions")
    return axis % rank


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


class InvalidShapeError(ValueError):
    """A shape that an operator or a schedule cannot take."""


def get_shape(src_shape, src_layout, dst_layout):
    """The shape in another order of its dimensions: layouts name the same ones."""
    if sorted(src_layout) != sorted(dst_layout):
        raise ValueError(f"get_shape: {src_layout} and {dst_layout} are not of the same dimensions")
    extents = get_const_tuple(src_shape)
    return tuple(extents[src_layout.index(dim)] for dim in dst_layout)


def is_dynamic_shape(shape):
    """Whether an extent is no number."""
    return not all(isinstance(each, (int, IntImm)) for each in shape)


def get_max_power2_factor(n, max_value=None):
    """The greatest power of 2 that divides n, and is at most max_value."""
    factor = 1
    while n % (factor * 2) == 0 and (max_value is None or factor * 2 <= max_value):
        factor *= 2
    return factor


def ravel_index(indices, shape):
    """The place of an element in row-major order."""
    place = None
    for index, extent in zip(indices, shape):
        place = index if place is None else place * extent + index
    return place


def unravel_index(idx, shape):
    """The indices of a place in row-major order."""
    indices = []
    for extent in reversed(list(shape)):
        indices.append(idx % extent)
        idx = idx // extent
    return indices[::-1]


def const_matrix(matrix, name="const_matrix", attrs=None):
    """A tensor of the elements of an array of numpy's with two dimensions."""
    from lathe import te
    dtype, (rows, columns) = str(matrix.dtype), matrix.shape

    def element(i, j):
        chosen = const(0, dtype)
        for at in range(rows * columns):
            row, column = divmod(at, columns)
            is_here = tir_all(i.equal(row), j.equal(column))
            chosen = Select(is_here, const(matrix[row][column].item(), dtype), chosen)
        return chosen

    return te.compute(matrix.shape, element, name, attrs=attrs)


def is_target(names):
    """Whether the current target's kind, or one of its keys, is among the names."""
    from lathe.target import Target
    names, target = [names] if isinstance(names, str) else names, Target.current(allow_none=True)
    return target is not None and any(name in (*target.keys, target.kind.name) for name in names)


def ceil_div(a, b):
    """The quotient, rounded up."""
    return (a + (b - 1)) // b


def swap(arr, axis):
    """A list with the element at the axis and the last one exchanged."""
    swapped = list(arr)
    swapped[axis], swapped[-1] = swapped[-1], swapped[axis]
    return swapped


def within_index(b, e, s, i):
    """Whether i is one of the indices from b on by steps of s before e."""
    downwards = tir_all(s < 0, i <= b, i > e)
    return tir_all(tir_any(tir_all(s > 0, i >= b, i < e), downwards), truncmod(i - b, s).equal(0))


def make_idx(b, e, s, z, i):
    """The place of i among these indices, of z; z for what is none."""
    return Select(within_index(b, e, s, i), truncdiv(i - b, s), z)


def nchw_pack_layout(layout_info):
    """Whether a layout is NCHW with a part of N and of C inside, as NCHW1n16c."""
    return layout_info[:4] == "NCHW" and "c" in layout_info and "n" in layout_info and layout_info[4:5].isdigit()


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
