"""Norms that other operators make up."""
from lathe._lib import topi as _topi
from lathe.topi.utils import prod


def l2_normalize(data, eps, axis=None):
    """By the root of the sum of squares over the axes, or of eps where that is less."""
    squares = _topi.sum(_topi.power(data, 2.0), axis=axis, keepdims=True)
    return _topi.divide(data, _topi.sqrt(_topi.maximum(_topi.broadcast_to(squares, data.shape), eps)))


def batch_norm(data, gamma, beta, moving_mean, moving_var, axis=None, epsilon=None, center=None, scale=None, training=None,
               momentum=None):
    """The result by the moving statistics, or in training by those of data; and the statistics afterwards."""
    axis = (1 if axis is None else axis) % len(data.shape)
    if not training:
        return _topi.nn.batch_norm(data, gamma, beta, moving_mean, moving_var, axis, epsilon, center, scale)
    mean, mean_in_place, var, var_in_place = _statistics(data, axis)
    deviation = _topi.sqrt(_topi.add(var_in_place, 1e-5 if epsilon is None else epsilon))
    result = _topi.divide(_topi.subtract(data, mean_in_place), deviation)
    for is_asked, values, apply in ((scale, gamma, _topi.multiply), (center, beta, _topi.add)):
        if is_asked or is_asked is None:
            result = apply(result, _in_place(values, data, axis))
    momentum = 0.1 if momentum is None else momentum
    return [result, _moved(moving_mean, mean, momentum), _moved(moving_var, var, momentum)]


def _statistics(data, axis):
    """Mean and variance of each index of the axis, and either in data's dimensions."""
    others = [each for each in range(len(data.shape)) if each != axis]
    count = prod([data.shape[each] for each in others])
    mean = _topi.divide(_topi.sum(data, axis=others), count)
    mean_in_place = _in_place(mean, data, axis)
    distances = [_topi.subtract(data, mean_in_place) for _ in range(2)]
    var = _topi.divide(_topi.sum(_topi.multiply(*distances), axis=others), count)
    return mean, mean_in_place, var, _in_place(var, data, axis)


def _in_place(values, data, axis):
    return _topi.reshape(values, [extent if i == axis else 1 for i, extent in enumerate(data.shape)])


def _moved(before, now, momentum):
    return _topi.add(_topi.multiply(1 - momentum, before), _topi.multiply(momentum, now))
