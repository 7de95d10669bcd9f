"""Sorting along an axis, by numpy."""
import numpy as np
import pytest
import tvm
from tvm import te, topi

RNG = np.random.default_rng(5)


def compute(make, array):
    x = te.placeholder(array.shape, str(array.dtype), "x")
    made = make(x)
    results = made if isinstance(made, list) else [made]
    s = te.create_schedule([each.op for each in results])
    outs = [tvm.nd.empty([int(extent) for extent in each.shape], each.dtype) for each in results]
    tvm.build(s, [x, *results], "llvm")(tvm.nd.array(array), *outs)
    return [out.numpy() for out in outs] if isinstance(made, list) else outs[0].numpy()


@pytest.mark.parametrize("shape, axis", [((1,), 0), ((7,), 0), ((64,), -1), ((3, 10, 4), 1), ((3, 5), 0), ((100, 33), 1)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_elements_are_sorted(shape, axis, dtype):
    data = RNG.integers(-20, 20, shape).astype(dtype)
    np.testing.assert_array_equal(compute(lambda x: topi.sort(x, axis), data), np.sort(data, axis))
    np.testing.assert_array_equal(compute(lambda x: topi.sort(x, axis, is_ascend=0), data), -np.sort(-data, axis))


@pytest.mark.parametrize("is_ascend", [0, 1])
def test_equal_elements_keep_their_order(is_ascend):
    data = RNG.integers(-3, 3, (4, 50)).astype("float32")
    places = compute(lambda x: topi.argsort(x, axis=1, is_ascend=is_ascend, dtype="int32"), data)
    np.testing.assert_array_equal(places, np.argsort(data if is_ascend else -data, axis=1, kind="stable"))


def test_places_have_the_type_that_is_asked_for():
    assert compute(topi.argsort, RNG.random((5,), dtype="float32")).dtype == "float32"
    with pytest.raises(ValueError, match="valid_count"):
        topi.argsort(te.placeholder((4,)), te.placeholder((1,)))


@pytest.mark.parametrize("k, axis", [(1, -1), (3, 0), (0, 1)])
def test_the_greatest_come_first(k, axis):
    data = RNG.permutation(60).reshape(6, 10).astype("float32")
    values, indices = compute(lambda x: topi.topk(x, k, axis), data)
    expected = np.argsort(-data, axis=axis).take(range(k or data.shape[axis]), axis)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(data, expected, axis))
    assert indices.dtype == "int64"
    np.testing.assert_array_equal(compute(lambda x: topi.topk(x, k, axis, ret_type="indices", dtype="int32"), data), expected)
