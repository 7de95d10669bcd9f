"""Norms of narrow types, and the numbers that they take."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, topi


def computed(result, inputs, *arrays):
    run = tvm.build(te.create_prim_func([*inputs, result]), target="llvm")
    out = tvm.nd.empty([int(extent) for extent in result.shape], result.dtype)
    run(*[tvm.nd.array(array) for array in arrays], out)
    return out.numpy()


def layer_norm(x, g, b):
    return topi.nn.layer_norm(x, g, b, [1])


def instance_norm(x, g, b):
    return topi.nn.instance_norm(x, g, b, 1, [2])


def group_norm(x, g, b):
    return topi.nn.group_norm(x, g, b, 2, 1, [2])


def normalized(x, axes, eps=1e-5):
    x = x.astype("float64")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.mark.parametrize("norm, shape, expected", [
    (layer_norm, (2, 4096), lambda x: normalized(x, 1)), (instance_norm, (2, 4, 4096), lambda x: normalized(x, 2)),
    (group_norm, (2, 4, 4096), lambda x: normalized(x.reshape(2, 2, 2, 4096), (2, 3)).reshape(x.shape))])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_of_large_numbers_are_taken_in_float32(norm, shape, expected, dtype):
    random = np.random.default_rng(0)
    x, g, b = ((random.random(extents) * scale).astype(dtype) for extents, scale in ((shape, 100), (shape[1], 1), (shape[1], 1)))
    inputs = [te.placeholder(each.shape, dtype, name) for each, name in zip((x, g, b), "xgb")]
    per_channel = [each.reshape([-1] + [1] * (len(shape) - 2)).astype("float64") for each in (g, b)]
    tvm.testing.assert_allclose(computed(norm(*inputs), inputs, x, g, b), expected(x) * per_channel[0] + per_channel[1],
                                rtol=2e-3, atol=4e-3)


@pytest.mark.parametrize("norm, ndim", [(layer_norm, 2), (instance_norm, 3), (group_norm, 3)])
def test_only_narrow_types_are_cast(norm, ndim):
    def script(dtype):
        x, g, b = te.placeholder((2, 4, 8)[:ndim], dtype, "x"), te.placeholder((4,), dtype, "g"), te.placeholder((4,), dtype, "b")
        return te.create_prim_func([x, g, b, norm(x, g, b)]).script()

    assert "T.Cast" not in script("float32")
    assert 'T.Cast("float32", ' in script("float16") and 'T.Cast("float16", (' in script("float16")


def test_a_group_norm_without_further_axes_is_over_the_channels_of_a_group():
    x, one, zero = np.random.default_rng(0).random((2, 4, 3), "float32"), np.ones(4, "float32"), np.zeros(4, "float32")
    X, G, B = te.placeholder(x.shape, name="X"), te.placeholder((4,), name="G"), te.placeholder((4,), name="B")
    expected = normalized(x.reshape(2, 2, 2, 3), 2).reshape(x.shape)
    tvm.testing.assert_allclose(computed(topi.nn.group_norm(X, G, B, 2, 1, []), [X, G, B], x, one, zero), expected, atol=1e-2)


def test_numbers_of_a_local_response_norm_are_floats_of_c():
    X = te.placeholder((1, 8, 4, 4), name="X")
    default = te.create_prim_func([X, topi.nn.lrn(X, 5)]).script()
    assert "T.float32(2.0) + T.float32(9.9999997473787516e-05) * " in default
    given = te.create_prim_func([X, topi.nn.lrn(X, 5, 1, 0.1, 0.3, 2.2)]).script()
    assert "T.float32(2.2000000476837158) + T.float32(0.10000000149011612) * " in given and "T.float32(0.30000001192092896)" in given


if __name__ == "__main__":
    tvm.testing.main()
