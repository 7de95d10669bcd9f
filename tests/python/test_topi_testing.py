"""topi.testing: numpy's answers are those of the kernels."""
import numpy as np
import pytest
import tvm
import tvm.testing
import tvm.topi.testing
from tvm import te, topi


def numbers(*shape):
    return np.random.default_rng(7).integers(-4, 5, shape).astype("float32")


def computed(make, *arrays):
    """What the operator that make(tensors) gives computes of the arrays."""
    tensors = [te.placeholder(array.shape, name=f"t{i}") for i, array in enumerate(arrays)]
    result = make(*tensors)
    out = tvm.nd.empty([int(extent) for extent in result.shape])
    tvm.build(te.create_prim_func([*tensors, result]), target="llvm")(*[tvm.nd.array(array) for array in arrays], out)
    return out.numpy()


@pytest.mark.parametrize("stride, padding, groups", [(1, 0, 1), (2, 1, 1), ((1, 2), (0, 1, 2, 1), 1), (2, "SAME", 1), (2, "VALID", 2)])
def test_convolutions(stride, padding, groups):
    data, weight = numbers(2, 4, 9, 8), numbers(6, 4 // groups, 3, 3)
    ours = topi.testing.conv2d_nchw_python(data, weight, stride, padding, groups)
    make = (lambda a, w: topi.nn.conv2d(a, w, stride, padding, 1)) if groups == 1 else (
        lambda a, w: topi.nn.group_conv2d_nchw(a, w, stride, padding, 1, groups))
    np.testing.assert_array_equal(ours, computed(make, data, weight))
    if groups == 1:
        nhwc = topi.testing.conv2d_nhwc_python(data.transpose(0, 2, 3, 1), weight.transpose(2, 3, 1, 0), stride, padding)
        np.testing.assert_array_equal(nhwc, ours.transpose(0, 2, 3, 1))
        hwcn = topi.testing.conv2d_hwcn_python(data.transpose(2, 3, 1, 0), weight.transpose(2, 3, 1, 0), stride, padding)
        np.testing.assert_array_equal(hwcn, ours.transpose(2, 3, 1, 0))


@pytest.mark.parametrize("stride, padding, dilation", [(1, 0, 1), (2, 1, 1), (1, "SAME", 2), (2, (1, 2), 2)])
def test_convolutions_of_one_dimension(stride, padding, dilation):
    data, weight = numbers(2, 4, 11), numbers(6, 4, 3)
    ours = topi.testing.conv1d_ncw_python(data, weight, stride, padding, dilation)
    make = lambda a, w: topi.nn.conv1d_ncw(a, w, stride, padding, dilation)
    np.testing.assert_array_equal(ours, computed(make, data, weight))


@pytest.mark.parametrize("stride, padding", [(1, 0), ((2, 1, 2), (0, 1, 2)), (2, "SAME")])
def test_convolutions_of_three_dimensions(stride, padding):
    data, weight = numbers(1, 2, 5, 6, 7), numbers(3, 2, 3, 3, 3)
    ours = topi.testing.conv3d_ncdhw_python(data, weight, stride, padding)
    np.testing.assert_array_equal(ours, computed(lambda a, w: topi.nn.conv3d_ncdhw(a, w, stride, padding, 1, 1), data, weight))
    last = topi.testing.conv3d_ndhwc_python(data.transpose(0, 2, 3, 4, 1), weight.transpose(2, 3, 4, 1, 0), stride, padding)
    np.testing.assert_array_equal(last, ours.transpose(0, 2, 3, 4, 1))


@pytest.mark.parametrize("numpy_of, op, rank", [
    (topi.testing.conv1d_transpose_ncw_python, topi.nn.conv1d_transpose_ncw, 1),
    (topi.testing.conv2d_transpose_nchw_python, topi.nn.conv2d_transpose_nchw, 2),
    (topi.testing.conv3d_transpose_ncdhw_python, topi.nn.conv3d_transpose_ncdhw, 3)])
def test_transposed_convolutions(numpy_of, op, rank):
    data, weight = numbers(1, 4, *range(5, 5 + rank)), numbers(4, 3, *[3] * rank)
    stride, padding, more = [2] * rank, [1] * rank, [1] * rank
    ours = numpy_of(data, weight, stride, padding, more)
    np.testing.assert_array_equal(ours, computed(lambda a, w: op(a, w, stride, padding, "float32", more), data, weight))


def test_convolutions_of_each_channel():
    data, weight = numbers(2, 4, 9, 8), numbers(4, 2, 3, 3)
    ours = topi.testing.depthwise_conv2d_python_nchw(data, weight, 2, 1)
    np.testing.assert_array_equal(
        ours, computed(lambda a, w: topi.nn.depthwise_conv2d_nchw(a, w, 2, 1, 1), data, weight))
    nhwc = topi.testing.depthwise_conv2d_python_nhwc(data.transpose(0, 2, 3, 1), weight.transpose(2, 3, 0, 1), 2, 1)
    np.testing.assert_array_equal(nhwc, ours.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("pool_type", ["max", "avg"])
@pytest.mark.parametrize("ceil_mode, include", [(False, True), (True, False), (True, True)])
def test_pools(pool_type, ceil_mode, include):
    data = numbers(1, 3, 10, 7)
    ours = topi.testing.poolnd_python(data, (3, 2), (2, 2), (1, 1), (1, 0), (0, 1), pool_type, include, ceil_mode)
    kernel = computed(lambda a: topi.nn.pool2d(a, (3, 2), (2, 2), (1, 1), (1, 0, 0, 1), pool_type, ceil_mode,
                                               count_include_pad=include), data)
    np.testing.assert_allclose(ours, kernel, rtol=1e-6)


def test_products():
    x, y, bias = numbers(4, 6), numbers(5, 6), numbers(5)
    np.testing.assert_array_equal(topi.testing.dense(x, y, None), computed(lambda a, b: topi.nn.dense(a, b), x, y))
    np.testing.assert_array_equal(topi.testing.dense(x, y, bias, use_bias=True, use_relu=True), np.maximum(x @ y.T + bias, 0))
    x, y = numbers(3, 4, 6), numbers(3, 5, 6)
    np.testing.assert_array_equal(topi.testing.batch_matmul(x, y), computed(lambda a, b: topi.nn.batch_matmul(a, b), x, y))


def test_softmax_and_dilation():
    x = numbers(4, 6)
    np.testing.assert_allclose(topi.testing.softmax_python(x), computed(lambda a: topi.nn.softmax(a, axis=1), x), rtol=1e-5)
    np.testing.assert_allclose(np.exp(topi.testing.log_softmax_python(x, 0)), topi.testing.softmax_python(x, 0), rtol=1e-5)
    np.testing.assert_array_equal(topi.testing.dilate_python(x, (2, 3)), computed(lambda a: topi.nn.dilate(a, (2, 3)), x))


if __name__ == "__main__":
    tvm.testing.main()
