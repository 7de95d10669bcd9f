"""Convolutions and their transposes."""
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


def dilate_python(input_np, strides, dilation_value=0.0, out_dtype=None):
    """Elements `strides` apart, the value between them."""
    shape = [(n - 1) * s + 1 for n, s in zip(input_np.shape, strides)]
    result = np.full(shape, dilation_value, dtype=out_dtype or input_np.dtype)
    result[tuple(slice(None, None, s) for s in strides)] = input_np
    return result


def conv2d_transpose_nhwc_python(a_nhwc, weight, weight_format, stride, padding, output_padding=(0, 0)):
    """conv2d_transpose_nchw_python of (batch, row, column, channel), by weights of "HWIO", "HWOI", "OIHW" or "IOHW"."""
    if sorted(weight_format) != sorted("HWIO"):
        raise ValueError(f"conv2d_transpose_nhwc_python: weight_format {weight_format!r}; name each of H, W, I and O once")
    weights = weight.transpose([weight_format.index(dim) for dim in "IOHW"])
    result = conv2d_transpose_nchw_python(a_nhwc.transpose(0, 3, 1, 2), weights, stride, padding, output_padding)
    return result.transpose(0, 2, 3, 1)


def group_conv1d_ncw_python(a_np, w_np, stride, padding, dilation, groups):
    """conv1d_ncw_python of each group of channels by weights of its own."""
    return conv1d_ncw_python(a_np, w_np, stride, padding, dilation, groups)


def group_conv1d_transpose_ncw_python(a_np, w_np, stride, padding, output_padding, groups=1):
    """conv1d_transpose_ncw_python of each group of channels by weights of its own."""
    parts = zip(np.split(a_np, groups, 1), np.split(w_np, groups, 0))
    return np.concatenate([conv1d_transpose_ncw_python(a, w, stride, padding, output_padding) for a, w in parts], axis=1)


def conv2d_backward_weight_python(dy_np, x_np, kernel_size, stride, padding, layout="NCHW", groups=1, channels=None):
    """What the weights of a convolution of x are to change by, where its result is to by dy."""
    del channels
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"conv2d_backward_weight_python: layout {layout} is not supported; give NCHW or NHWC")
    if layout == "NHWC":
        dy_np, x_np = dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2)
    strides, kernel = _each(stride), _each(kernel_size)
    padded = np.pad(x_np, [(0, 0), (0, 0), *_sides(padding, kernel)])
    inputs, outputs = x_np.shape[1] // groups, dy_np.shape[1] // groups
    result = np.zeros((dy_np.shape[1], inputs, *kernel), dtype=dy_np.dtype)
    for group, tap in itertools.product(range(groups), np.ndindex(*kernel)):
        rows, columns = (slice(t, t + n * s, s) for t, n, s in zip(tap, dy_np.shape[2:], strides))
        part = padded[:, group * inputs:(group + 1) * inputs, rows, columns]
        own = slice(group * outputs, (group + 1) * outputs)
        result[(own, slice(None), *tap)] = np.einsum("nohw,nchw->oc", dy_np[:, own], part)
    return result.transpose(0, 2, 3, 1) if layout == "NHWC" else result
