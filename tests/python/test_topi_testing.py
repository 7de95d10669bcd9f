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


def reals(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype("float32")


_T, _NN = topi.testing, topi.nn


@pytest.mark.parametrize("ours, op, shapes", [
    (lambda x, g, b: _T.layer_norm_python(x, g, b, (1, 2)), lambda x, g, b: _NN.layer_norm(x, g, b, (1, 2)),
     [(2, 3, 4), (3, 4), (3, 4)]),
    (lambda x, g, b: _T.group_norm_python(x, g, b, 2, 1, [2, 3]), lambda x, g, b: _NN.group_norm(x, g, b, 2, 1, [2, 3]),
     [(2, 4, 5, 6), (4,), (4,)]),
    (lambda x, g, b: _T.instance_norm_python(x, g, b, (2, 3)), lambda x, g, b: _NN.instance_norm(x, g, b, 1, [2, 3]),
     [(2, 4, 5, 6), (4,), (4,)]),
    (lambda x, w: _T.rms_norm_python(x, w, (2,)), lambda x, w: _NN.rms_norm(x, w, [2]), [(2, 3, 4), (4,)]),
    (lambda x: _T.lrn_python(x, 3, 1, 2.0, 0.5, 0.75), lambda x: _NN.lrn(x, 3, 1, 0.5, 0.75, 2.0), [(2, 4, 5, 6)]),
    (lambda x: _T.l2_normalize_python(x, 1e-3, (1,)), lambda x: _NN.l2_normalize(x, 1e-3, [1]), [(2, 4, 5)]),
    (lambda x: _T.adaptive_pool(x, (3, 4), "avg", "NCHW"), lambda x: _NN.adaptive_pool(x, (3, 4), "avg"), [(1, 2, 7, 8)]),
    (lambda x: _T.adaptive_pool(x, (2, 3, 2), "max", "NCDHW"), lambda x: _NN.adaptive_pool3d(x, (2, 3, 2), "max"),
     [(1, 2, 4, 7, 5)]),
    (lambda x: _T.space_to_depth_python(x, 2), lambda x: _NN.space_to_depth(x, 2), [(1, 3, 4, 6)]),
    (lambda x: _T.depth_to_space_python(x, 2, "CDR"), lambda x: _NN.depth_to_space(x, 2, mode="CDR"), [(1, 8, 2, 3)]),
    (lambda x: _T.strided_slice_python(x, [1, 4], [3, 0], [1, -2]),
     lambda x: topi.strided_slice(x, [1, 4], [3, 0], [1, -2]), [(4, 5, 2)]),
    (lambda x: _T.resize2d_python(x, (2, 2), "NCHW", "linear"),
     lambda x: _NN.upsampling(x, 2, 2, "NCHW", "bilinear", True), [(1, 2, 3, 4)])])
def test_norms_pools_and_shapes(ours, op, shapes):
    arrays = [reals(*shape) for shape in shapes]
    np.testing.assert_allclose(ours(*arrays), computed(op, *arrays), rtol=2e-4, atol=1e-5)


def test_elements_by_their_indices():
    x, at = reals(3, 4), np.array([[0, 3], [1, 1], [2, 0]])
    np.testing.assert_array_equal(_T.gather_python(x, 1, at), np.take_along_axis(x, at, 1))
    np.testing.assert_array_equal(_T.gather_nd_python(x, np.array([[0, 2], [1, 3]])), x[[0, 2], [1, 3]])
    assert _T.one_hot(np.array([2, 0]), 1, 0, 3, -1, "int32").tolist() == [[0, 0, 1], [1, 0, 0]]
    blocks = _T.space_to_batch_nd_python(reals(2, 4, 6, 3), [2, 3], [0, 0], [0, 0])
    np.testing.assert_array_equal(_T.batch_to_space_nd_python(blocks, [2, 3], [0, 0], [0, 0]), reals(2, 4, 6, 3))


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_says_what_the_statistics_become(training):
    arrays = [reals(2, 3, 4, 5), reals(3), reals(3) + 1, reals(3) - 1, abs(reals(3))]
    tensors = [te.placeholder(array.shape, name=f"t{i}") for i, array in enumerate(arrays)]
    results = topi.nn.batch_norm(*tensors, axis=1, epsilon=1e-3, training=training, momentum=0.25)
    outs = [tvm.nd.empty([int(extent) for extent in result.shape]) for result in results]
    tvm.build(te.create_prim_func([*tensors, *results]), target="llvm")(*map(tvm.nd.array, arrays), *outs)
    expected = _T.batch_norm(*arrays, 1, 1e-3, True, True, training, 0.25)
    for ours, kernel in zip(expected, outs):
        np.testing.assert_allclose(ours, kernel.numpy(), rtol=1e-4, atol=1e-5)


def test_schedules_are_those_of_the_target():
    assert _T.dispatch("llvm", {"generic": 1, "cpu": 2}) == 2 and _T.dispatch("cuda", {"generic": 1, "cpu": 2}) == 1
    assert _T.get_injective_schedule("llvm") is topi.x86.schedule_injective
    assert _T.get_reduce_schedule("cuda") is topi.cuda.schedule_reduce
    x = reals(4, 6)
    A = te.placeholder(x.shape, name="A")
    B, out = topi.sum(A, axis=1), tvm.nd.empty((4,))
    tvm.build(_T.get_reduce_schedule(tvm.target.Target("llvm"))(B), [A, B], "llvm")(tvm.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), x.sum(axis=1), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    tvm.testing.main()
