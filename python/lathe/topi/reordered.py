"""Operators that take elements from elsewhere, or their bits, as they are."""
from lathe import te
from lathe.tir.op import if_then_else, reinterpret as _reinterpret_value


def reinterpret(x, dtype):
    """The bits of each element as a value of another type."""
    return te.compute(x.shape, lambda *at: _reinterpret_value(dtype, x(*at)), "T_reinterpret", tag="elemwise")


def expand_like(a, shape_like, axis):
    """`a`, the same all along the given axes, which it does not have; a scalar of one dimension may get all of them."""
    rank = len(shape_like.shape)
    added = {each + rank if each < 0 else each for each in ([axis] if isinstance(axis, int) else axis)}
    is_scalar = len(a.shape) == 1 and len(added) == rank
    if not is_scalar and len(added) + len(a.shape) != rank:
        raise ValueError(f"expand_like: {len(a.shape)} dimensions and {len(added)} axes make no tensor of {rank}")

    def element(*at):
        return a(0) if is_scalar else a(*(index for i, index in enumerate(at) if i not in added))

    return te.compute(shape_like.shape, element, "T_expand_like", tag="broadcast")


def reverse_sequence(a, seq_lengths, seq_axis=1, batch_axis=0):
    """The first seq_lengths[batch] elements along seq_axis in reverse, the others where they are."""
    rank = len(a.shape)
    seq_axis, batch_axis = (each + rank if each < 0 else each for each in (seq_axis, batch_axis))

    def element(*at):
        length = seq_lengths(at[batch_axis]).astype("int32")
        place = if_then_else(at[seq_axis] < length, length - 1 - at[seq_axis], at[seq_axis])
        return a(*at[:seq_axis], place, *at[seq_axis + 1:])

    return te.compute(a.shape, element, "T_reverse_sequence", tag="injective")
