"""Operators that others make up, and schedules of topi: what they compute, by numpy."""
import numpy as np
import pytest
import tvm
import tvm.topi.testing
from tvm import te, topi

RNG = np.random.default_rng(3)


def random(*shape):
    return RNG.standard_normal(shape).astype("float32")


def compute(make, *arrays, schedule=None):
    inputs = [te.placeholder(each.shape, str(each.dtype), f"in{i}") for i, each in enumerate(arrays)]
    result = make(*inputs)
    s = te.create_schedule(result.op) if schedule is None else schedule(result)
    out = tvm.nd.empty([int(extent) for extent in result.shape], result.dtype)
    tvm.build(s, [*inputs, result], "llvm")(*map(tvm.nd.array, arrays), out)
    return out.numpy()


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


def softmax(a):
    return tvm.topi.testing.softmax_python(a)


X, Y = random(3, 4), random(3, 4)


@pytest.mark.parametrize("make, expected", [
    (topi.fast_exp, np.exp), (topi.fast_tanh, np.tanh), (lambda x: topi.nn.fast_softmax(x, axis=1), softmax)])
def test_fast_functions_are_the_functions(make, expected):
    close(compute(make, X), expected(X))


def test_sums_of_exponentials_do_not_overflow():
    close(compute(topi.log_add_exp, X, Y), np.logaddexp(X, Y))
    close(compute(topi.log_add_exp, X * 1000, Y * 1000), np.logaddexp(X * 1000, Y * 1000))


@pytest.mark.parametrize("a, b, axes", [
    ((2, 3, 4), (4, 3, 5), ((2, 1), (0, 1))), ((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (4, 2), (0, 1))])
def test_products_over_axes(a, b, axes):
    a, b = random(*a), random(*b)
    close(compute(lambda x, y: topi.tensordot(x, y, axes=axes), a, b), np.tensordot(a, b, axes=axes))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_running_sums_and_products(axis):
    data = random(3, 4, 5)
    close(compute(lambda x: topi.cumsum(x, axis), data), np.cumsum(data, axis).reshape(-1 if axis is None else data.shape))
    close(compute(lambda x: topi.cumprod(x, axis), data), np.cumprod(data, axis).reshape(-1 if axis is None else data.shape))


def test_running_sums_without_the_element_itself():
    data = np.arange(12, dtype="int32").reshape(3, 4)
    actual = compute(lambda x: topi.cumsum(x, 1, dtype="int64", exclusive=True), data)
    assert actual.dtype == "int64" and actual.tolist() == (np.cumsum(data, 1) - data).tolist()


def test_channels_are_scaled_and_shifted():
    data, scale, shift = random(2, 3, 4, 5), random(3), random(3)
    expected = data * scale[:, None, None] + shift[:, None, None]
    close(compute(topi.nn.scale_shift_nchw, data, scale, shift), expected)
    close(compute(topi.nn.scale_shift_nhwc, data.transpose(0, 2, 3, 1), scale, shift), expected.transpose(0, 2, 3, 1))


def test_the_nearest_pixel_is_repeated():
    data = random(1, 2, 3, 4)
    repeated = data.repeat(2, 2).repeat(3, 3)
    close(compute(lambda x: topi.nn.upsampling(x, 2, 3), data), repeated)
    of_last = compute(lambda x: topi.nn.upsampling(x, 2, 3, layout="NHWC"), data.transpose(0, 2, 3, 1))
    close(of_last, repeated.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("align_corners", [False, True])
def test_pixels_between_two_are_mixed(align_corners):
    data = random(1, 1, 3, 1)
    actual = compute(lambda x: topi.nn.upsampling(x, 2, 1, method="bilinear", align_corners=align_corners), data)
    places = np.linspace(0, 2, 6) if align_corners else np.minimum(np.arange(6) / 2, 2)
    close(actual.reshape(-1), np.interp(places, np.arange(3), data.reshape(-1)))


@pytest.mark.parametrize("family", [topi.generic, topi.x86])
@pytest.mark.parametrize("make, arrays, expected, name", [
    (lambda x, y: topi.exp(topi.add(x, y)), (X, Y), lambda x, y: np.exp(x + y), "injective"),
    (lambda x: topi.sum(topi.exp(x), axis=1), (X,), lambda x: np.exp(x).sum(1), "reduce"),
    (lambda x: topi.nn.softmax(x, axis=1), (X,), softmax, "softmax"),
    (lambda x: topi.cumsum(topi.exp(x), 1), (X,), lambda x: np.cumsum(np.exp(x), 1), "extern")])
def test_schedules_of_topi_compute_the_same(family, make, arrays, expected, name):
    close(compute(make, *arrays, schedule=getattr(family, "schedule_" + name)), expected(*arrays))


def test_schedules_for_gpus_bind_every_stage():
    x = te.placeholder((8, 100), "float32", "x")
    result = topi.nn.softmax(x, axis=1)
    text = str(tvm.lower(topi.cuda.schedule_softmax(result), [x, result]))
    assert text.count("blockIdx.x") >= 3 and "threadIdx.x" in text


def test_shapes_are_tuples_of_numbers():
    assert topi.get_const_tuple(te.placeholder((2, 3)).shape) == (2, 3)


def test_remainders_of_floats_are_spelled_out():
    a, b = te.placeholder((4,), "float32", "a"), te.placeholder((4,), "float32", "b")
    text = te.create_prim_func([a, b, topi.floor_mod(a, b)]).script()
    assert "a[v_ax0] - T.floor(a[v_ax0] / b[v_ax0]) * b[v_ax0]" in text
    assert "T.floor(a[v_ax0] / b[v_ax0])" in te.create_prim_func([a, b, topi.floor_divide(a, b)]).script()
    x, y = random(16), random(16) + 3
    np.testing.assert_allclose(compute(topi.floor_mod, x, y), np.mod(x, y), rtol=1e-4, atol=1e-5)
