"""Images of another size."""
import numpy as np


def _coordinates(size, scale, mode):
    """How many pixels there are then, and where each lies in what there was."""
    count = int(round(size * scale))
    at = np.arange(count, dtype="float64")
    if mode == "align_corners":
        return at * ((size - 1) / (count - 1) if count > 1 else 0)
    return (at + 0.5) * (size / count) - 0.5 if mode == "half_pixel" else at * (size / count)


_ROUNDED = {"floor": np.floor, "ceil": np.ceil, "round": np.rint, "round_prefer_floor": lambda at: np.ceil(at - 0.5),
            "round_prefer_ceil": lambda at: np.floor(at + 0.5)}


def _nearest(at, mode, rounding):
    rounding = rounding or ("round" if mode == "align_corners" else "floor")
    if rounding not in _ROUNDED:
        raise ValueError(f"resize: rounding method {rounding!r} is not known; give one of {', '.join(_ROUNDED)}")
    return [(_ROUNDED[rounding](at), 1)]


def _linear(at):
    rest = at - np.floor(at)
    return [(np.floor(at), 1 - rest), (np.floor(at) + 1, rest)]


def _cubic(at, a=-0.5):
    rest = at - np.floor(at)
    near = lambda x: (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = lambda x: a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    weights = [far(1 + rest), near(rest), near(1 - rest), far(2 - rest)]
    return [(np.floor(at) + i - 1, weight) for i, weight in enumerate(weights)]


def _resized(data, axis, scale, method, mode, rounding):
    size, at = data.shape[axis], _coordinates(data.shape[axis], scale, mode)
    parts = _nearest(at, mode, rounding) if method == "nearest_neighbor" else (_linear if method == "linear" else _cubic)(at)
    total = 0
    for places, weight in parts:
        picked = np.take(data, np.clip(places, 0, size - 1).astype("int64"), axis=axis)
        total = total + picked * np.reshape(weight, [-1 if i == axis and np.ndim(weight) else 1 for i in range(data.ndim)])
    return total


def _resize(data, scale, layout, method, mode, rounding):
    if method not in ("nearest_neighbor", "linear", "cubic"):
        raise ValueError(f"resize: method {method!r} is not known; give nearest_neighbor, linear or cubic")
    result, places = data, [i for i, dim in enumerate(layout) if dim in "DHW"]
    for axis, factor in zip(places, scale):
        result = _resized(result, axis, factor, method, mode, rounding)
    return result.astype(data.dtype)


def resize1d_python(data, scale, layout="NCW", method="nearest_neighbor", coordinate_transformation_mode="align_corners",
                    rounding_method=""):
    """Rows that are scale[0] times as long."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode, rounding_method)


def resize2d_python(data, scale, layout="NCHW", method="nearest_neighbor", coordinate_transformation_mode="align_corners",
                    rounding_method=""):
    """Images that are scale[0] times as high and scale[1] times as wide."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode, rounding_method)


def resize3d_python(data, scale, layout="NCDHW", method="nearest_neighbor", coordinate_transformation_mode="align_corners",
                    rounding_method=""):
    """The same of volumes."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode, rounding_method)


def affine_grid_python(data, target_shape):
    """The places, x and y from -1 to 1, that matrices of 2 x 3 map those of the target to."""
    rows, columns = np.meshgrid(*(np.linspace(-1, 1, n) for n in target_shape), indexing="ij")
    points = np.stack([columns.ravel(), rows.ravel(), np.ones(rows.size)])
    return (data @ points).reshape(data.shape[0], 2, *target_shape)
