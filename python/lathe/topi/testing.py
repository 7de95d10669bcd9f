"""What operators compute, by numpy: for programs that check kernels."""
import itertools

import numpy as np


def _each(value, count=2):
    return (value,) * count if isinstance(value, int) else tuple(value)


def _sides(padding, kernel):
    """(before, after) of each dimension: one number, one for each, all of them, "SAME" (as without stride) or "VALID"."""
    if isinstance(padding, str):
        return [(0, 0) if padding.upper() == "VALID" else (k // 2, k - 1 - k // 2) for k in kernel]
    values = _each(padding, len(kernel))
    if len(values) == 2 * len(kernel):
        return list(zip(values[:len(kernel)], values[len(kernel):]))
    return [(side, side) for side in values]


def _convolved(a_np, w_np, strides, pads, dilations, groups=1):
    """Of (batch, channel, places) by weights of (out channel, in channel of a group, taps), in any number of dimensions."""
    padded = np.pad(a_np, [(0, 0), (0, 0), *pads])
    kernel = w_np.shape[2:]
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(padded.shape[2:], kernel, dilations, strides)]
    inputs, outputs = a_np.shape[1] // groups, w_np.shape[0] // groups
    result = np.zeros((a_np.shape[0], w_np.shape[0], *counts), dtype=np.result_type(a_np, w_np))
    for group, tap in itertools.product(range(groups), np.ndindex(*kernel)):
        window = tuple(slice(t * d, t * d + n * s, s) for t, d, n, s in zip(tap, dilations, counts, strides))
        part = padded[(slice(None), slice(group * inputs, (group + 1) * inputs), *window)]
        own = slice(group * outputs, (group + 1) * outputs)
        result[:, own] += np.einsum("nc...,oc->no...", part, w_np[(own, slice(None), *tap)])
    return result


def _spread(a_np, w_np, strides, pads, output_padding):
    """The transpose of a convolution, by weights of (in channel, out channel, taps)."""
    spread = dilate_python(a_np, (1, 1, *strides))
    sides = [(k - 1 - before, k - 1 - after + more)
             for k, (before, after), more in zip(w_np.shape[2:], pads, output_padding)]
    flipped = np.flip(w_np, range(2, w_np.ndim)).swapaxes(0, 1)
    ones = [1] * len(strides)
    return _convolved(spread, flipped, ones, sides, ones)


def conv1d_ncw_python(a_np, w_np, stride, padding, dilation, groups=1):
    """Convolution of (batch, channel, place) by weights of (out channel, in channel of a group, tap)."""
    spans = [(w_np.shape[2] - 1) * _each(dilation, 1)[0] + 1]
    return _convolved(a_np, w_np, _each(stride, 1), _sides(padding, spans), _each(dilation, 1), groups)


def conv1d_transpose_ncw_python(a_np, w_np, stride, padding, output_padding):
    """Its transpose, by weights of (in channel, out channel, tap)."""
    return _spread(a_np, w_np, _each(stride, 1), _sides(padding, w_np.shape[2:]), _each(output_padding, 1))


def conv2d_transpose_nchw_python(a_np, w_np, stride, padding, output_padding, groups=1):
    """The transpose of conv2d_nchw_python, by weights of (in channel, out channel of a group, row, column)."""
    parts = zip(np.split(a_np, groups, 1), np.split(w_np, groups, 0))
    pads = _sides(padding, w_np.shape[2:])
    return np.concatenate([_spread(a, w, _each(stride), pads, _each(output_padding)) for a, w in parts], axis=1)


def conv3d_ncdhw_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of (batch, channel, depth, row, column) by weights of (out channel, in channel of a group, ...)."""
    return _convolved(a_np, w_np, _each(stride, 3), _sides(padding, w_np.shape[2:]), (1, 1, 1), groups)


def conv3d_ndhwc_python(a_np, w_np, stride, padding, groups=1):
    """The same of (batch, depth, row, column, channel) by weights of (depth, row, column, in channel, out channel)."""
    result = conv3d_ncdhw_python(np.moveaxis(a_np, 4, 1), w_np.transpose(4, 3, 0, 1, 2), stride, padding, groups)
    return np.moveaxis(result, 1, 4)


def conv3d_transpose_ncdhw_python(a_np, w_np, stride, padding, output_padding):
    """The transpose of conv3d_ncdhw_python, by weights of (in channel, out channel, depth, row, column)."""
    return _spread(a_np, w_np, _each(stride, 3), _sides(padding, w_np.shape[2:]), _each(output_padding, 3))


def conv2d_nchw_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of (batch, channel, row, column) by weights of (out channel, in channel of a group, row, column)."""
    return _convolved(a_np, w_np, _each(stride), _sides(padding, w_np.shape[2:]), (1, 1), groups)


def conv2d_nhwc_python(a_np, w_np, stride, padding, groups=1):
    """The same of (batch, row, column, channel) by weights of (row, column, in channel, out channel)."""
    result = conv2d_nchw_python(a_np.transpose(0, 3, 1, 2), w_np.transpose(3, 2, 0, 1), stride, padding, groups)
    return result.transpose(0, 2, 3, 1)


def conv2d_hwcn_python(a_np, w_np, stride, padding):
    """The same of (row, column, channel, batch) by weights of (row, column, in channel, out channel)."""
    result = conv2d_nchw_python(a_np.transpose(3, 2, 0, 1), w_np.transpose(3, 2, 0, 1), stride, padding)
    return result.transpose(2, 3, 1, 0)


def depthwise_conv2d_python_nchw(input_np, filter_np, stride, padding):
    """Each channel by weights of its own, (channel, multiplier, row, column)."""
    channels, multiplier = filter_np.shape[:2]
    weights = filter_np.reshape(channels * multiplier, 1, *filter_np.shape[2:])
    return conv2d_nchw_python(input_np, weights, stride, padding, groups=channels)


def depthwise_conv2d_python_nhwc(input_np, filter_np, stride, padding):
    """The same of (batch, row, column, channel) by weights of (row, column, channel, multiplier)."""
    result = depthwise_conv2d_python_nchw(input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding)
    return result.transpose(0, 2, 3, 1)


def dense(x, y, bias, use_bias=False, use_relu=False, out_dtype=None):
    """x times the transpose of y."""
    result = np.dot(x.astype(out_dtype or x.dtype), y.T.astype(out_dtype or y.dtype))
    result = result + bias if use_bias else result
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(x, y, out_dtype=None, trans_x=False, trans_y=True):
    """A product of matrices for each of a batch, or of the only one."""
    x, y = (x.transpose(0, 2, 1) if trans_x else x), (y.transpose(0, 2, 1) if trans_y else y)
    return np.matmul(x.astype(out_dtype or x.dtype), y.astype(out_dtype or y.dtype))


def dilate_python(input_np, strides, dilation_value=0.0, out_dtype=None):
    """Elements `strides` apart, the value between them."""
    shape = [(n - 1) * s + 1 for n, s in zip(input_np.shape, strides)]
    result = np.full(shape, dilation_value, dtype=out_dtype or input_np.dtype)
    result[tuple(slice(None, None, s) for s in strides)] = input_np
    return result


def softmax_python(a_np, axis=1):
    """Exponentials as parts of their sum."""
    powers = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np, axis=1):
    """Its logarithm."""
    shifted = a_np - a_np.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


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
