"""Operators of networks that others make up."""
from lathe import te, tir
from lathe._lib import topi as _topi
from lathe.topi.utils import get_const_int

fast_softmax = _topi.nn.softmax


def _scale_shift(channels_of):
    def scale_shift(Input, Scale, Shift):
        def element(*at):
            channels = channels_of(at)
            return Input(*at) * Scale(*channels) + Shift(*channels)

        return te.compute(Input.shape, element, "ScaleShift", tag="broadcast")

    scale_shift.__doc__ = "Each channel times its scale, plus its shift."
    return scale_shift


scale_shift_nchw = _scale_shift(lambda at: [at[1]])
scale_shift_nhwc = _scale_shift(lambda at: [at[3]])
scale_shift_nchwc = _scale_shift(lambda at: [at[1], at[4]])


def upsampling(data, scale_h, scale_w, layout="NCHW", method="nearest_neighbor", align_corners=False, output_shape=None):
    """Rows and columns so many times as often: the nearest one, or between two ("bilinear")."""
    if layout not in ("NCHW", "NHWC") or method not in ("nearest_neighbor", "bilinear"):
        raise ValueError(f"upsampling: layout {layout}, method {method}; NCHW or NHWC, nearest_neighbor or bilinear are known")
    row = layout.index("H")
    sizes = [get_const_int(data.shape[row + i]) for i in range(2)]
    wanted = output_shape or [round(size * scale) for size, scale in zip(sizes, (scale_h, scale_w))]
    places = [_nearest, _between][method == "bilinear"]
    steps = [_step(size, get_const_int(out), align_corners) for size, out in zip(sizes, wanted)]

    def element(*at):
        weighted = [places(at[row + i], steps[i], sizes[i], data.dtype) for i in range(2)]
        return _mixed(lambda y, x: data(*at[:row], y, x, *at[row + 2:]), *weighted)

    shape = [*data.shape[:row], *wanted, *data.shape[row + 2:]]
    return te.compute(shape, element, "upsampling", tag="injective")


def _step(size, out, align_corners):
    """From one place to the next, as a fraction."""
    return (size - 1, out - 1) if align_corners and out > 1 else (size, out)


def _nearest(i, step, size, dtype):
    return [(tir.min(i * step[0] // step[1], size - 1), None)]


def _between(i, step, size, dtype):
    """The two places around, with their weights."""
    low = tir.min(i * step[0] // step[1], size - 1)
    part = (i * step[0] % step[1]).astype(dtype) / tir.const(float(step[1]), dtype)
    return [(low, tir.const(1.0, dtype) - part), (tir.min(low + 1, size - 1), part)]


def _mixed(value_at, rows, columns):
    if rows[0][1] is None:
        return value_at(rows[0][0], columns[0][0])
    total = None
    for y, weight_y in rows:
        for x, weight_x in columns:
            part = value_at(y, x) * weight_y * weight_x
            total = part if total is None else total + part
    return total
