"""Pools."""
import itertools

import numpy as np


def poolnd_python(np_data, kernel, strides, dilation, padding_before, padding_after, pool_type, count_include_pad=True,
                  ceil_mode=False, dtype="float32", layout="NCHW"):
    """The greatest, or the mean, of windows over all dimensions but the first two."""
    if layout not in ("NCW", "NCHW", "NCDHW"):
        raise ValueError(f"poolnd_python: layout {layout} is not supported; give NCW, NCHW or NCDHW")
    sizes, is_max = np_data.shape[2:], pool_type == "max"
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    rests = [n + before + after - span for n, before, after, span in zip(sizes, padding_before, padding_after, spans)]
    counts = [(-(-rest // s) if ceil_mode else rest // s) + 1 for rest, s in zip(rests, strides)]
    extra = [max((count - 1) * s + span - (n + before + after), 0) for count, s, span, n, before, after in zip(
        counts, strides, spans, sizes, padding_before, padding_after)]
    pads = [(0, 0), (0, 0)] + [(before, after + more) for before, after, more in zip(padding_before, padding_after, extra)]
    least = (np.finfo if np.issubdtype(dtype, np.floating) else np.iinfo)(dtype).min
    data = np.pad(np_data.astype(dtype), pads, constant_values=least if is_max else 0)
    inside = np.pad(np.ones_like(np_data, dtype="int64"), pads)
    if count_include_pad:
        inner = tuple(slice(0, n + before + after) for n, before, after in zip(sizes, padding_before, padding_after))
        inside[(slice(None), slice(None), *inner)] = 1
    windows, members = [], []
    for tap in itertools.product(*(range(k) for k in kernel)):
        place = tuple(slice(t * d, t * d + (count - 1) * s + 1, s) for t, d, count, s in zip(tap, dilation, counts, strides))
        windows.append(data[(slice(None), slice(None), *place)])
        members.append(inside[(slice(None), slice(None), *place)])
    return np.max(windows, axis=0) if is_max else (np.sum(windows, axis=0) / np.maximum(np.sum(members, axis=0), 1)).astype(dtype)


def adaptive_pool(np_data, out_size, pool_type, layout):
    """The greatest ("max") or the mean ("avg") of as many parts of each dimension of places as out_size says."""
    places = [i for i, dim in enumerate(layout) if dim in "DHW"]
    sizes = (out_size,) * len(places) if isinstance(out_size, int) else tuple(out_size)
    reduce = {"max": np.max, "avg": np.mean}[pool_type]
    parts = [[slice(k * np_data.shape[axis] // size, -(-(k + 1) * np_data.shape[axis] // size)) for k in range(size)]
             for axis, size in zip(places, sizes)]
    shape = list(np_data.shape)
    for axis, size in zip(places, sizes):
        shape[axis] = size
    result = np.zeros(shape, dtype=np_data.dtype)
    for at in np.ndindex(*sizes):
        window, target = [slice(None)] * np_data.ndim, [slice(None)] * np_data.ndim
        for axis, k, own in zip(places, at, parts):
            window[axis], target[axis] = own[k], k
        result[tuple(target)] = reduce(np_data[tuple(window)], axis=tuple(places))
    return result


def pool_grad_nchw(a_np, out_grad_np, pool_size, strides, padding, pool_type, ceil_mode, count_include_pad=True):
    """What the elements of a pool of (batch, channel, row, column) change its result by, times out_grad_np. padding: top,
    left, bottom, right."""
    del ceil_mode
    top, left, bottom, right = padding
    padded = np.pad(a_np, [(0, 0), (0, 0), (top, bottom + pool_size[0]), (left, right + pool_size[1])],
                    constant_values=a_np.min() - 1)
    inside = np.pad(np.ones(a_np.shape[2:]), [(top, bottom + pool_size[0]), (left, right + pool_size[1])])
    if count_include_pad:
        inside[:top + a_np.shape[2] + bottom, :left + a_np.shape[3] + right] = 1
    grad = np.zeros(padded.shape, dtype=a_np.dtype)
    for n, c, y, x in np.ndindex(*out_grad_np.shape):
        rows, columns = slice(y * strides[0], y * strides[0] + pool_size[0]), slice(x * strides[1], x * strides[1] + pool_size[1])
        if pool_type == "avg":
            grad[n, c, rows, columns] += out_grad_np[n, c, y, x] / max(inside[rows, columns].sum(), 1)
        else:
            window = padded[n, c, rows, columns]
            at = np.unravel_index(window.argmax(), window.shape)
            grad[n, c, rows, columns][at] += out_grad_np[n, c, y, x]
    return grad[:, :, top:top + a_np.shape[2], left:left + a_np.shape[3]]
