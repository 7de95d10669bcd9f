"""Operators that others make up."""
from lathe import te
from lathe._lib import topi as _topi
from lathe.topi.utils import axis_of, get_const_int
from lathe.tir import ir_builder

# Elsewhere approximations; here the functions themselves are as fast.
fast_exp, fast_tanh, fast_erf = _topi.exp, _topi.tanh, _topi.erf


def log_add_exp(lhs, rhs):
    """log(exp(lhs) + exp(rhs)), also where a power is too large for its type."""
    larger = _topi.maximum(lhs, rhs)
    total = _topi.add(_topi.exp(_topi.subtract(lhs, larger)), _topi.exp(_topi.subtract(rhs, larger)))
    return _topi.add(larger, _topi.log(total))


def tensordot(a, b, axes):
    """Products summed over axes of both: so many last ones of `a` and first ones of `b`, one of each, or a list for each."""
    of_a, of_b = ([axis_of("tensordot", x, axis) for axis in used] for x, used in zip((a, b), _contracted(a, axes)))
    sums = [te.reduce_axis((0, a.shape[axis]), f"k{i}") for i, axis in enumerate(of_a)]
    free_a, free_b = (_others(len(x.shape), used) for x, used in ((a, of_a), (b, of_b)))

    def element(*at):
        left = _placed(free_a, at[:len(free_a)], of_a, sums)
        return te.sum(a(*left) * b(*_placed(free_b, at[len(free_a):], of_b, sums)), axis=sums)

    return te.compute([a.shape[i] for i in free_a] + [b.shape[i] for i in free_b], element, "T_tensordot", tag="matmul")


def _contracted(a, axes):
    if isinstance(axes, int):
        return list(range(len(a.shape) - axes, len(a.shape))), list(range(axes))
    return tuple([each] if isinstance(each, int) else list(each) for each in axes)


def _others(rank, used):
    return [axis for axis in range(rank) if axis not in used]


def _placed(free, at, summed, sums):
    return [value for _, value in sorted([*zip(free, at), *zip(summed, sums)], key=lambda pair: pair[0])]


def cumsum(data, axis=None, dtype=None, exclusive=None):
    """The sum of each element and those before it along the axis; of all in order without one."""
    return _running(data, axis, dtype, exclusive, "cumsum", 0, lambda total, value: total + value)


def cumprod(data, axis=None, dtype=None, exclusive=None):
    """Their product."""
    return _running(data, axis, dtype, exclusive, "cumprod", 1, lambda total, value: total * value)


def _running(data, axis, dtype, exclusive, name, first, join):
    if axis is None:
        data, axis = _topi.reshape(data, [_count(data.shape)]), 0
    axis, dtype = axis_of(name, data, axis), dtype or data.dtype
    before, count, after = _count(data.shape[:axis]), get_const_int(data.shape[axis]), _count(data.shape[axis + 1:])

    def body(ins, outs):
        builder = ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, before * after, "line", kind="parallel") as line:
            start = line // after * (count * after) + line % after
            _run_line(builder, source, target, start, count, after, bool(exclusive), first, join, dtype)
        return builder.get()

    return te.extern([data.shape], [data], body, name=name, dtype=dtype, tag=name)


def _run_line(builder, source, target, start, count, step, exclusive, first, join, dtype):
    from lathe.tir import const
    target[start] = const(first, dtype) if exclusive else source[start].astype(dtype)
    with builder.for_range(1, count, "k") as k:
        here, last = start + k * step, start + (k - 1) * step
        target[here] = join(target[last], source[last if exclusive else here].astype(dtype))


def _count(shape):
    product = 1
    for extent in shape:
        product *= get_const_int(extent)
    return product
