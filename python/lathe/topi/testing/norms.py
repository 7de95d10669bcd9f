"""Parts of a sum, and numbers that are made comparable."""
import numpy as np


def softmax_python(a_np, axis=1):
    """Exponentials as parts of their sum."""
    powers = np.exp(a_np - a_np.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def log_softmax_python(a_np, axis=1):
    """Its logarithm."""
    shifted = a_np - a_np.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _tuple(axis, ndim):
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    return tuple(each % ndim for each in axes)


def _along(values, axes, ndim):
    """Values with a dimension for each of the axes, to be combined with data of ndim dimensions."""
    shape = [1] * ndim
    for axis, extent in zip(axes, values.shape):
        shape[axis] = extent
    return values.transpose(np.argsort(axes)).reshape(shape) if len(axes) > 1 else values.reshape(shape)


def _centred(data, axes, epsilon):
    """With mean 0 and variance 1 over the axes, in no less than 32 bits."""
    wide = data.astype(np.result_type(data.dtype, np.float32))
    deviation = np.sqrt(wide.var(axis=axes, keepdims=True) + epsilon)
    return (wide - wide.mean(axis=axes, keepdims=True)) / deviation


def layer_norm_python(data, gamma, beta, axis, epsilon=1e-5):
    """Centred over the axes, times gamma plus beta (or None), which have their dimensions."""
    axes = _tuple(axis, data.ndim)
    result = _centred(data, axes, epsilon) * _along(gamma, axes, data.ndim)
    return (result if beta is None else result + _along(beta, axes, data.ndim)).astype(data.dtype)


def group_norm_python(data, gamma, beta, num_groups, channel_axis, axes, epsilon=1e-5):
    """Centred over the axes and the channels of each group, times gamma plus beta of each channel."""
    shape = list(data.shape)
    shape[channel_axis:channel_axis + 1] = [num_groups, shape[channel_axis] // num_groups]
    inner = [axis + 1 if axis > channel_axis else axis for axis in axes]
    result = _centred(data.reshape(shape), (channel_axis + 1, *inner), epsilon).reshape(data.shape)
    result = result * _along(gamma, (channel_axis,), data.ndim) + _along(beta, (channel_axis,), data.ndim)
    return result.astype(data.dtype)


def instance_norm_python(data, gamma, beta, axis, epsilon=1e-5):
    """Centred over the axes, times gamma plus beta: of the last dimensions where they fit, else of each channel, the second."""
    result = _centred(data, _tuple(axis, data.ndim), epsilon)
    if gamma.shape == data.shape[1:2] != data.shape[-1:]:
        gamma, beta = _along(gamma, (1,), data.ndim), _along(beta, (1,), data.ndim)
    return (result * gamma + beta).astype(data.dtype)


def rms_norm_python(data, weight, axis, epsilon=1e-5):
    """By the root of the mean square over the axes, times weight, which has their dimensions."""
    axes = _tuple(axis, data.ndim)
    wide = data.astype(np.result_type(data.dtype, np.float32))
    root = np.sqrt((wide**2).mean(axis=axes, keepdims=True) + epsilon)
    return (wide / root * _along(weight, axes, data.ndim)).astype(data.dtype)


def l2_normalize_python(a_np, eps, axis=None):
    """By the root of the sum of squares over the axes, or of eps where that is less."""
    axes = None if axis is None else _tuple(axis, a_np.ndim)
    return a_np / np.sqrt(np.maximum((a_np**2).sum(axis=axes, keepdims=True), eps))


def lrn_python(a_np, size, axis, bias, alpha, beta):
    """By what size // 2 neighbours on both sides along the axis sum up to."""
    radius, squares = size // 2, np.moveaxis(a_np**2, axis, 0)
    padded = np.pad(squares, [(radius, radius)] + [(0, 0)] * (a_np.ndim - 1))
    total = sum(padded[shift:shift + squares.shape[0]] for shift in range(2 * radius + 1))
    return a_np / (bias + alpha * np.moveaxis(total, 0, axis) / size)**beta


def batch_norm(x, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale, training, momentum):
    """The result by the moving statistics, or in training by those of x; and the statistics afterwards."""
    others = tuple(each for each in range(x.ndim) if each != axis % x.ndim)
    mean, var = (x.mean(axis=others), x.var(axis=others)) if training else (moving_mean, moving_var)
    of_channel = lambda values: _along(values, (axis % x.ndim,), x.ndim)
    result = (x - of_channel(mean)) / np.sqrt(of_channel(var) + epsilon)
    result = result * of_channel(gamma) if scale else result
    result = result + of_channel(beta) if center else result
    if not training:
        return [result, moving_mean, moving_var]
    return [result, moving_mean * (1 - momentum) + mean * momentum, moving_var * (1 - momentum) + var * momentum]
