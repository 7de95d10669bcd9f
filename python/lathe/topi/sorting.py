"""Elements in order along an axis: stable merges from runs of one to the whole line."""
from lathe import te, tir
from lathe._lib import topi as _topi
from lathe.tir import ir_builder
from lathe.topi.utils import axis_of, get_const_int


def sort(data, axis=-1, is_ascend=1):
    """The elements, the smallest first, or the greatest."""
    axis = axis_of("sort", data, axis)
    return _topi.gather(data, axis, _order(data, axis, is_ascend))


def argsort(data, valid_count=None, axis=-1, is_ascend=1, dtype="float32"):
    """Their places before."""
    if valid_count is not None:
        raise ValueError("argsort: every line is sorted as a whole; leave valid_count out")
    return _topi.cast(_order(data, axis_of("argsort", data, axis), is_ascend), dtype)


def topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int64"):
    """The first k of them and their places ("both"), or one of these ("values", "indices"); all where k is less than 1."""
    axis = axis_of("topk", data, axis)
    count = get_const_int(data.shape[axis])
    places = _first(_order(data, axis, is_ascend), axis, count if k < 1 else min(get_const_int(k), count))
    values, indices = _topi.gather(data, axis, places), _topi.cast(places, dtype)
    return {"both": [values, indices], "values": values, "indices": indices}[ret_type]


def _first(tensor, axis, count):
    shape = [count if i == axis else extent for i, extent in enumerate(tensor.shape)]
    return te.compute(shape, lambda *at: tensor(*at), "first", tag="injective")


def _product(extents):
    product = 1
    for extent in extents:
        product *= get_const_int(extent)
    return product


def _order(data, axis, is_ascend):
    count, step = get_const_int(data.shape[axis]), _product(data.shape[axis + 1:])
    lines = _product(data.shape[:axis]) * step

    def body(ins, outs):
        builder = ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, lines, "line", kind="parallel") as line:
            _Line(builder, source, target, line // step * (count * step) + line % step, step, count, is_ascend).sort()
        return builder.get()

    return te.extern([data.shape], [data], body, name="order", dtype="int32", tag="order")


class _Line:
    """One line of elements: which places come first, in `target`."""

    def __init__(self, builder, source, target, start, step, count, is_ascend):
        self.builder, self.source, self.target = builder, source, target
        self.start, self.step, self.count, self.is_ascend = start, step, count, is_ascend

    def sort(self):
        runs, spare = (self.builder.allocate("int32", (self.count,), name=name) for name in ("runs", "spare"))
        heads = self.builder.allocate("int32", (2,), name="heads")
        with self.builder.for_range(0, self.count, "k") as k:
            runs[k] = k
        width = 1
        while width < self.count:
            self._merge(runs, spare, heads, width)
            runs, spare, width = spare, runs, width * 2
        with self.builder.for_range(0, self.count, "k") as k:
            self.target[self.start + k * self.step] = runs[k]

    def _merge(self, runs, merged, heads, width):
        """Each two runs of `width` to one."""
        with self.builder.for_range(0, self.count, "k") as k:
            first = k // (2 * width) * (2 * width)
            middle, end = (tir.min(first + parts * width, self.count) for parts in (1, 2))
            with self.builder.if_scope(k % (2 * width) == 0):
                heads[0], heads[1] = k, middle
            with self.builder.if_scope(self._takes_left(runs, heads, middle, end)):
                self._take(runs, merged, heads, k, 0)
            with self.builder.else_scope():
                self._take(runs, merged, heads, k, 1)

    def _take(self, runs, merged, heads, k, side):
        merged[k] = runs[heads[side]]
        heads[side] = heads[side] + 1

    def _takes_left(self, runs, heads, middle, end):
        left, right = (self.source[self.start + runs[heads[side]] * self.step] for side in (0, 1))
        is_right_better = right < left if self.is_ascend else right > left
        among_two = tir.if_then_else(heads[1] >= end, tir.const(True, "bool"), tir.Not(is_right_better))
        return tir.if_then_else(heads[0] >= middle, tir.const(False, "bool"), among_two)
