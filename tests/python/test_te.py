"""Tensor expressions as TVM programs write them."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir, topi
from tvm.script import tir as T


def matmul(n, m, l):
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    return [A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")]


def test_create_prim_func_makes_a_block_per_compute():
    A, B, C = matmul(16, 16, 16)
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1, name="D")

    @T.prim_func
    def expected(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
        T.func_attr({"tir.noalias": True, "global_symbol": "main"})
        C = T.alloc_buffer((16, 16))
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(16, 16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)

    tvm.ir.assert_structural_equal(te.create_prim_func([A, B, D]), expected)


def test_a_function_of_tensors_is_scheduled_and_runs():
    func = te.create_prim_func(matmul(32, 24, 16))
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops(sch.get_block("C"))
    sch.reorder(i, k, j)
    sch.vectorize(j)
    rng = np.random.default_rng(1)
    a, b = rng.random((32, 16), dtype="float32"), rng.random((16, 24), dtype="float32")
    c = tvm.nd.empty((32, 24))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), c)
    tvm.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def test_tensors_say_what_they_are():
    A, B, C = matmul(4, 5, 6)
    assert [int(extent) for extent in C.shape] == [4, 5] and C.dtype == "float32" and C.ndim == 2
    assert isinstance(A.op, te.PlaceholderOp) and isinstance(C.op, te.ComputeOp)
    assert [axis.var.name for axis in C.op.axis] == ["i", "j"] and C.op.reduce_axis[0].var.name == "k"
    assert C.op.output(0) == C and list(C.op.input_tensors) == [A, B]
    assert isinstance(C.op.body[0], tir.Reduce)
    assert C.op.name == "C" and C.name == "C" and C.value_index == 0


def test_operators_on_tensors_are_those_of_topi():
    A, B = te.placeholder((4, 1), name="A"), te.placeholder((3,), name="B")
    C = A + B * 2.0 - 1.0
    assert [int(extent) for extent in C.shape] == [4, 3] and C.op.name == "T_subtract"


def test_reducers_combine_directly_where_no_axis_is_given():
    x, y = te.var("x"), te.var("y")
    tvm.ir.assert_structural_equal(te.max(x, y), tir.Max(x, y))
    with pytest.raises(tvm.TVMError, match="not of a reduction"):
        te.compute((4,), lambda i: te.sum(te.const(1.0), axis=tir.IterVar((0, 4), x, 0)))


def test_tuple_reducers_find_the_greatest():
    idx, val = te.placeholder((4, 5), name="idx", dtype="int32"), te.placeholder((4, 5), name="val")
    argmax = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)), name="argmax")
    k = te.reduce_axis((0, 5), name="k")
    T0, T1 = te.compute((4,), lambda i: argmax((idx[i, k], val[i, k]), axis=k), name="T")
    values = np.random.default_rng(1).permutation(20).astype("float32").reshape(4, 5)
    indices = np.tile(np.arange(5, dtype="int32"), (4, 1))
    found, greatest = tvm.nd.empty((4,), "int32"), tvm.nd.empty((4,))
    tvm.build(te.create_prim_func([idx, val, T0, T1]), target="llvm")(tvm.nd.array(indices), tvm.nd.array(values),
                                                                      found, greatest)
    assert (found.numpy() == values.argmax(1)).all() and (greatest.numpy() == values.max(1)).all()


def test_errors_say_what_to_do():
    A, B, C = matmul(4, 4, 4)
    k = te.reduce_axis((0, 4), name="k")
    with pytest.raises(tvm.TVMError, match="make it a tensor of its own"):
        te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0)
    with pytest.raises(ValueError, match="takes 1 arguments, the shape has 2"):
        te.compute((4, 4), lambda i: A[i, 0])
    with pytest.raises(tvm.TVMError, match="reads placeholder \"B\""):
        te.create_prim_func([A, C])
    with pytest.raises(tvm.TVMError, match="extents 4 and 3 cannot be brought together"):
        topi.add(A, te.placeholder((3,)))


def run(inputs, result, *arrays):
    out = tvm.nd.empty([int(extent) for extent in result.shape], result.dtype)
    tvm.build(te.create_prim_func(inputs + [result]), target="llvm")(*[tvm.nd.array(array) for array in arrays], out)
    return out.numpy()


def test_topi_agrees_with_numpy():
    rng = np.random.default_rng(3)
    x, y = rng.random((4, 6), dtype="float32"), rng.random((6,), dtype="float32")
    X, Y = te.placeholder((4, 6), name="X"), te.placeholder((6,), name="Y")
    for result, expected in [
            (topi.sum(X, axis=1), x.sum(1)), (topi.max(X, axis=0, keepdims=True), x.max(0, keepdims=True)),
            (topi.argmin(X, axis=1), x.argmin(1)), (topi.transpose(X), x.T),
            (topi.reshape(X, (3, -1)), x.reshape(3, 8)), (topi.exp(X), np.exp(x)),
            (topi.nn.softmax(X), np.exp(x) / np.exp(x).sum(1, keepdims=True)),
            (topi.strided_slice(X, [1, 5], [4, 1], [2, -2]), x[1:4:2, 5:1:-2]), (topi.flip(X, 1), x[:, ::-1])]:
        tvm.testing.assert_allclose(run([X], result, x), expected, rtol=1e-5)
    tvm.testing.assert_allclose(run([X, Y], topi.multiply(X, Y), x, y), x * y, rtol=1e-6)
    tvm.testing.assert_allclose(run([X, Y], topi.where(topi.greater(X, 0.5), X, Y), x, y), np.where(x > 0.5, x, y))


def test_operators_are_found_in_the_modules_of_their_kind():
    from tvm import topi
    from tvm.topi import broadcast, math, reduction

    assert math.exp is topi.exp and broadcast.add is topi.add and reduction.sum is topi.sum
    assert not hasattr(math, "add")
    for module in (math, broadcast, reduction):
        assert all(hasattr(module, name) for name in module._NAMES.split()), module


def test_values_are_in_the_form_that_tvm_simplifies_to():
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    mask = te.compute((8, 8), lambda i, j: A[i, j] > 1.0, name="mask")
    mean = te.compute((8,), lambda i: A[i, 0] / tir.Mul(tir.FloatImm("float32", 1), tir.FloatImm("float32", 768)), name="mean")
    even = te.compute((8,), lambda i: te.sum(A[i, (k * 2) % 8 // 2] + (A[i, k] + 1.0), axis=k), name="even")

    @T.prim_func
    def expected(A: T.Buffer((8, 8), "float32"), mask: T.Buffer((8, 8), "bool"), mean: T.Buffer((8,), "float32"), even: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": True, "global_symbol": "main"})
        for i, j in T.grid(8, 8):
            with T.block("mask"):
                vi, vj = T.axis.remap("SS", [i, j])
                mask[vi, vj] = T.float32(1) < A[vi, vj]
        for i in range(8):
            with T.block("mean"):
                vi = T.axis.spatial(8, i)
                mean[vi] = A[vi, 0] / T.float32(768)
        for i, k in T.grid(8, 8):
            with T.block("even"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    even[vi] = T.float32(0)
                even[vi] = even[vi] + (A[vi, vk % 4] + (A[vi, vk] + T.float32(1)))

    tvm.ir.assert_structural_equal(te.create_prim_func([A, mask, mean, even]), expected)


def test_indices_of_functions_may_be_of_64_bits():
    a, k = te.placeholder((16,), name="A", dtype="int32"), te.reduce_axis((0, 16), "k")
    b = te.compute((8,), lambda i: te.sum(tir.if_then_else(i + k < 16, a[i + k], 0), axis=k), name="B")

    @T.prim_func
    def expected(A: T.Buffer((T.int64(16),), "int32"), B: T.Buffer((T.int64(8),), "int32")):
        T.func_attr({"tir.noalias": True})
        for i, k in T.grid(T.int64(8), T.int64(16)):
            with T.block("B"):
                v_i, v_k = T.axis.remap("SR", [i, k])
                T.reads(A[v_i + v_k])
                T.writes(B[v_i])
                with T.init():
                    B[v_i] = 0
                B[v_i] = B[v_i] + T.if_then_else(v_i + v_k < T.int64(16), A[v_i + v_k], 0)

    func = te.create_prim_func([a, b], index_dtype_override="int64")
    tvm.ir.assert_structural_equal(func.with_attr("global_symbol", "expected"), expected)
    values, result = np.arange(16, dtype="int32"), tvm.nd.empty((8,), "int32")
    tvm.build(func, target="llvm")(tvm.nd.array(values), result)
    np.testing.assert_array_equal(result.numpy(), [values[i:].sum() for i in range(8)])


def test_what_is_stored_keeps_its_type_where_indices_change_theirs():
    a = te.placeholder((16,), name="A", dtype="int32")
    b = te.compute((16,), lambda i: a[15 - i] * (i + 2), name="B")
    func = te.create_prim_func([a, b], index_dtype_override="int64")
    store = func.body.block.body.body.block.body
    assert isinstance(store.value, tir.Cast) and store.value.dtype == "int32" and store.value.value.dtype == "int64"
    with pytest.raises(tvm.TVMError, match="indices are int32 or int64"):
        te.create_prim_func([a, b], index_dtype_override="int16")
    n = te.var("n", "int64")
    c = te.placeholder((n,), name="C")
    d = te.compute((n,), lambda i: c[i], name="D")
    assert te.create_prim_func([c, d], index_dtype_override="int32").body.block.body.loop_var.dtype == "int32"


if __name__ == "__main__":
    tvm.testing.main()


def test_pixels_and_layouts_agree_with_numpy():
    x = np.arange(4 * 6 * 6, dtype="float32").reshape(1, 4, 6, 6)
    X, Y = te.placeholder(x.shape, name="X"), te.placeholder((1, 6, 6, 4), name="Y")
    y = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    deep = x.reshape(1, 4, 3, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 16, 3, 3)
    wide = {"DCR": x.reshape(1, 2, 2, 1, 6, 6).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 12, 12),
            "CDR": x.reshape(1, 1, 2, 2, 6, 6).transpose(0, 1, 4, 2, 5, 3).reshape(1, 1, 12, 12)}
    blocks = np.concatenate([x, np.zeros((1, 2, 6, 6), "float32")], 1).reshape(1, 2, 3, 6, 6).transpose(0, 1, 3, 4, 2)
    for arg, value, result, expected in [
            (X, x, topi.nn.space_to_depth(X, 2), deep),
            (Y, y, topi.nn.space_to_depth(Y, 2, "NHWC"), deep.transpose(0, 2, 3, 1)),
            (X, x, topi.nn.depth_to_space(X, 2), wide["DCR"]),
            (X, x, topi.nn.depth_to_space(X, 2, mode="CDR"), wide["CDR"]),
            (X, x, topi.nn.depth_to_space(X, 2, mode="CRD"), wide["CDR"]),
            (X, x, topi.layout_transform(X, "NCHW", "NHWC"), y),
            (X, x, topi.layout_transform(X, "NCHW", "NCHW3c"), blocks)]:
        tvm.testing.assert_allclose(run([arg], result, value), expected)
    assert topi.layout_transform(X, "NCHW", "NCHW").same_as(X)
    for refused, why in [(lambda: topi.nn.space_to_depth(X, 2, "NCWH"), "no layout"),
                         (lambda: topi.nn.depth_to_space(X, 0), "less than 1"),
                         (lambda: topi.layout_transform(X, "NCHW", "NHW"), "different dimensions")]:
        with pytest.raises(tvm.TVMError, match=why):
            refused()


def test_indices_outside_are_taken_round_and_round():
    x, indices = np.arange(12, dtype="float32").reshape(3, 4), np.array([-5, 6, 3, -1, 14], "int32")
    X, I = te.placeholder(x.shape, name="X"), te.placeholder((5,), name="I", dtype="int32")
    for axis in (None, 1):
        result = topi.take(X, I, axis, mode="wrap")
        tvm.testing.assert_allclose(run([X, I], result, x, indices), np.take(x, indices, axis, mode="wrap"))


@pytest.mark.parametrize("axis, batch_dims", [(1, 1), (2, 1), (-1, 2), (2, -1), (1, 0)])
@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
def test_indices_of_a_batch_are_taken_of_their_own_row(axis, batch_dims, mode):
    x = np.arange(2 * 3 * 4 * 5, dtype="float32").reshape(2, 3, 4, 5)
    random = np.random.default_rng(0)
    indices = random.integers(*((0, 3) if mode == "fast" else (-9, 9)), (2, 3, 6)).astype("int32")
    X, I = te.placeholder(x.shape, name="X"), te.placeholder(indices.shape, name="I", dtype="int32")
    count = batch_dims % 3
    rows = [np.take(part, at, axis % 4 - count, mode="raise" if mode == "fast" else mode)
            for part, at in zip(x.reshape(-1, *x.shape[count:]), indices.reshape(-1, *indices.shape[count:]))]
    expected = np.stack(rows).reshape(*x.shape[:count], *rows[0].shape)
    tvm.testing.assert_allclose(run([X, I], topi.take(X, I, axis, batch_dims, mode), x, indices), expected)


def test_a_batch_comes_before_the_axis_and_is_as_large_in_both():
    A, I = te.placeholder((3, 4, 5), name="A"), te.placeholder((3, 2), name="I", dtype="int32")
    for axis, batch_dims, why in [(0, 1, "batch_dims is 1"), (2, 3, "batch_dims is 3"), (2, -3, "batch_dims is -3"),
                                  (2, 2, "differ in dimension 1")]:
        with pytest.raises(tvm.TVMError, match=why):
            topi.take(A, I, axis, batch_dims)
    assert list(topi.take(A, I, batch_dims=1).shape) == [3, 2]  # Of A in row-major order, as in TVM.


def test_operators_are_built_as_in_tvm_0_27():
    X, A = te.placeholder((1, 4, 6, 6), name="X"), te.placeholder((4, 8), name="A")
    Y, W = te.placeholder((1, 6, 6, 4), name="Y"), te.placeholder((3, 3, 4, 8), name="W")
    pool = tir.Schedule(te.create_prim_func([X, topi.nn.adaptive_pool(X, (3, 3), "avg")]))
    assert [int(pool.get(loop).extent) for loop in pool.get_loops("adaptive_pool_sum")] == [1, 4, 3, 3, 2, 2]
    uneven = tir.Schedule(te.create_prim_func([X, topi.nn.adaptive_pool(X, (4, 4), "max")]))
    assert len(uneven.get_loops("adaptive_pool_max_l1")) == 4
    padded = te.create_prim_func([X, topi.nn.pool2d(X, [3, 3], [2, 2], [1, 1], [1, 0, 0, 1], "max")]).script()
    assert "T.if_then_else(1 <= v_ax2 and v_ax3 < 6, " in padded  # Only the sides with padding are asked.
    conv = te.create_prim_func([Y, W, topi.nn.conv2d_nhwc(Y, W, 1, 1, 1)])
    assert list(conv.attrs["layout_free_buffers"]) == [1]
    plain = te.create_prim_func([Y, W, topi.nn.conv2d(Y, W, 1, 1, 1, "NHWC", "HWIO")])
    assert "layout_free_buffers" not in plain.attrs
    V, K = te.placeholder((1, 6, 6, 6, 4), name="V"), te.placeholder((3, 3, 3, 4, 8), name="K")
    assert "layout_free_buffers" not in te.create_prim_func([V, K, topi.nn.conv3d_ndhwc(V, K, 1, 1, 1, 1)]).attrs
    names = [part.op.name for part in topi.split(A, [2, 5], axis=1)], [part.op.name for part in topi.split(A, 2, axis=1)]
    assert names == (["T_split"] * 3, ["T_split_sections"] * 2)
    assert "A_red_temp_v1[v_ax0] > A[v_ax0, v_k1]" in te.create_prim_func([A, topi.argmax(A, axis=1)]).script()


def test_a_compute_without_axes_has_one_iter_var():
    A = te.placeholder((), name="A")
    func = te.create_prim_func([A, te.compute((), lambda: A() + 1.0, name="B")])
    assert "vi = T.axis.spatial(1, 0)" in func.script()


def test_shapes_of_floats_are_type_errors():
    for refused in (lambda: te.placeholder((4.5,), name="A"), lambda: te.compute((2.0,), lambda i: i, name="B")):
        with pytest.raises((TypeError, tvm.TVMError), match="float"):
            refused()


def test_parameters_of_externs_begin_at_an_offset():
    A = te.placeholder((16, 4), name="A")
    B = te.compute((16, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.extern((16, 4), [A, B], lambda ins, outs: tir.call_packed("my.function", ins[0], ins[1], outs[0]), name="C")
    func = te.create_prim_func([A, C])
    taken = [func.buffer_map[param] for param in func.params]
    assert [isinstance(each.elem_offset, tir.Var) and each.offset_factor == 1 for each in taken] == [True, True]
    calls = []
    tir.stmt_functor.post_order_visit(func.body, lambda node: calls.append(node) if isinstance(node, tir.Call) else None)
    offsets = [call.args[5] for call in calls if call.op.name == "tir.tvm_stack_make_array"]
    assert offsets[0].same_as(taken[0].elem_offset) and offsets[1] == 0 and offsets[2].same_as(taken[1].elem_offset)


def test_an_extern_alone_is_the_root():
    A = te.placeholder((16,), name="A")
    double = tir.decl_buffer((16,), "float32", "double", data_alignment=8)
    C = te.extern((16,), [A], lambda ins, outs: tir.call_packed("my.function", ins[0], outs[0]), name="C", out_buffers=[double])
    func = te.create_prim_func([A, C])
    assert func.body.block.name_hint == "C" and func.buffer_map[func.params[1]].data_alignment == 8


def test_externs_at_an_offset_are_built():
    def double(ins, outs):
        builder = tir.ir_builder.create()
        source, result = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 16) as i:
            result[i] = source[i] * 2.0
        return builder.get()

    A = te.placeholder((16,), name="A")
    B = te.extern((16,), [A], double, name="B", dtype="float32")
    a, b = tvm.nd.array(np.arange(16, dtype="float32")), tvm.nd.empty((16,))
    tvm.build(te.create_prim_func([A, B]), target="llvm")(a, b)
    np.testing.assert_array_equal(b.numpy(), a.numpy() * 2)
