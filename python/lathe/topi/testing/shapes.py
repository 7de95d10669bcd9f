"""What moves, picks or replaces elements."""
import numpy as np


def space_to_depth_python(data, block_size):
    """Blocks of (batch, channel, row, column) as channels."""
    n, c, h, w = data.shape
    blocks = data.reshape(n, c, h // block_size, block_size, w // block_size, block_size)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * block_size**2, h // block_size, w // block_size)


def depth_to_space_python(data, block_size, mode="DCR"):
    """Channels as blocks; "DCR": the place in a block is what changes last along them, "CDR": first."""
    n, c, h, w = data.shape
    rest = c // block_size**2
    if mode == "DCR":
        parts = data.reshape(n, block_size, block_size, rest, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, rest, block_size, block_size, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, rest, h * block_size, w * block_size)


def space_to_batch_nd_python(data, block_shape, pad_before, pad_after, pad_value=0):
    """Blocks of the dimensions after the first as batches."""
    rank = len(block_shape)
    pads = [(0, 0), *zip(pad_before, pad_after)] + [(0, 0)] * (data.ndim - 1 - rank)
    padded = np.pad(data, pads, constant_values=pad_value)
    counts = [n // b for n, b in zip(padded.shape[1:], block_shape)]
    blocks = [each for pair in zip(counts, block_shape) for each in pair]
    parts = padded.reshape(padded.shape[0], *blocks, *padded.shape[1 + rank:])
    order = [2 + 2 * i for i in range(rank)] + [0] + [1 + 2 * i for i in range(rank)] + list(range(1 + 2 * rank, parts.ndim))
    return parts.transpose(order).reshape(-1, *counts, *padded.shape[1 + rank:])


def batch_to_space_nd_python(data, block_shape, crop_begin_list, crop_end_list):
    """The reverse, less so many elements at both ends."""
    rank, places = len(block_shape), data.shape[1:1 + len(block_shape)]
    parts = data.reshape(*block_shape, -1, *data.shape[1:])
    order = [rank] + [each for i in range(rank) for each in (rank + 1 + i, i)] + list(range(1 + 2 * rank, parts.ndim))
    whole = parts.transpose(order).reshape(-1, *[n * b for n, b in zip(places, block_shape)], *data.shape[1 + rank:])
    crops = [slice(begin, n * b - end) for n, b, begin, end in zip(places, block_shape, crop_begin_list, crop_end_list)]
    return whole[(slice(None), *crops)]


def reorg_python(a_np, stride):
    """The pixels of blocks as channels, as YOLO's layer has them."""
    n, c, h, w = a_np.shape
    inner = c // stride**2
    flat = a_np.reshape(n, inner, h * stride, w * stride) if inner else a_np
    blocks = flat.reshape(n, inner, h, stride, w, stride).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(n, c * stride**2, h // stride, w // stride)


def _slices(data, begin, end, strides, slice_mode, axes):
    axes = list(axes) if axes is not None else range(max(len(begin), len(end)))
    slices = [slice(None)] * data.ndim
    for i, axis in enumerate(axes):
        start = begin[i] if i < len(begin) else None
        stop = end[i] if i < len(end) else None
        step = strides[min(i, len(strides) - 1)] if strides and (i < len(strides) or len(strides) == 1) else 1
        if slice_mode == "size":
            step, stop = 1, None if stop is None or stop < 0 else (start or 0) + stop
        slices[axis] = slice(start, stop, step)
    return tuple(slices)


def strided_slice_python(data, begin, end, strides, slice_mode="end", axes=None):
    """numpy's slices along the first axes, or those that are named; slice_mode "size": end says how many, -1 all."""
    return data[_slices(data, list(begin), list(end), strides and list(strides), slice_mode, axes)]


def strided_set_python(data, v, begin, end, strides):
    """A copy with v there."""
    result = data.copy()
    result[_slices(data, list(begin), list(end), strides and list(strides), "end", None)] = v
    return result


def slice_axis_python(data, axis, begin, end=None):
    """A slice along one axis."""
    return strided_slice_python(data, [begin], [end], [1], axes=[axis])


def gather_python(data, axis, indices):
    """The elements that indices name along the axis, at their own place elsewhere."""
    at = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    at[axis] = indices
    return data[tuple(at)]


def gather_nd_python(a_np, indices_np):
    """The parts at the places that the first dimension of indices lists."""
    return a_np[tuple(indices_np.astype("int64"))]


def one_hot(indices, on_value, off_value, depth, axis, dtype):
    """on_value where the new dimension's index is the one that is given."""
    axis = indices.ndim if axis == -1 else axis
    places = np.arange(depth).reshape([depth if i == axis else 1 for i in range(indices.ndim + 1)])
    return np.where(np.expand_dims(indices, axis) == places, on_value, off_value).astype(dtype)


def sequence_mask(data, valid_length, mask_value, axis):
    """mask_value from each sequence's length on; axis, 0 or 1, is time, the other one the sequences."""
    times = np.arange(data.shape[axis])
    is_beyond = times[:, None] >= valid_length if axis == 0 else times >= valid_length[:, None]
    return np.where(is_beyond.reshape(is_beyond.shape + (1,) * (data.ndim - 2)), mask_value, data).astype(data.dtype)


def searchsorted_ref(sorted_sequence, values, right, out_dtype):
    """Where values keep the order, row by row; of one row where that is one."""
    side = "right" if right else "left"
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side=side).astype(out_dtype)
    result = np.zeros(values.shape, dtype=out_dtype)
    for row in np.ndindex(*values.shape[:-1]):
        result[row] = np.searchsorted(sorted_sequence[row], values[row], side=side)
    return result


def matrix_set_diag(input_np, diagonal, k=0, align="RIGHT_LEFT"):
    """Matrices whose diagonals, one or k[0] to k[1], are those. align: where shorter ones stand, above and below the main
    one."""
    low, high = (k, k) if isinstance(k, int) else k
    of_upper, of_lower = align.split("_")
    result = input_np.copy()
    rows, columns = input_np.shape[-2:]
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
    for d, length in lengths.items():
        values = diagonal if low == high and diagonal.ndim < input_np.ndim else diagonal[..., high - d, :]
        skipped = max(lengths.values()) - length if (of_upper if d >= 0 else of_lower) == "RIGHT" else 0
        for i in range(length):
            result[..., i - min(d, 0), i + max(d, 0)] = values[..., skipped + i]
    return result


def nll_loss(predictions, targets, weights, reduction="mean", ignore_index=-100):
    """The negative of what was predicted for each target, weighted."""
    counted = targets != ignore_index
    chosen = np.where(counted, targets, 0)
    picked = np.take_along_axis(predictions, np.expand_dims(chosen, 1), axis=1).squeeze(1)
    weight = np.where(counted, weights[chosen], 0).astype(predictions.dtype)
    loss = -picked * weight
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / weight.sum()
