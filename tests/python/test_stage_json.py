"""Schedules of stages as texts: what is loaded computes the same, with the same said of it."""
import pickle

import numpy as np
import pytest

import lathe.compat

lathe.compat.install_as("tvm")

import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import te, tir  # noqa: E402


def loaded_in_each_way(schedule):
    return [tvm.ir.load_json(tvm.ir.save_json(schedule)), pickle.loads(pickle.dumps(schedule))]


def tensors_of(schedule):
    """Those of its operations, by name."""
    found = {}

    def visit(op):
        found.update({op.output(i).name: op.output(i) for i in range(op.num_outputs)})
        for tensor in op.input_tensors:
            if tensor.name not in found:
                visit(tensor.op)

    for op in schedule.outputs:
        visit(op)
    return found


def results(schedule, args, arrays):
    out = tvm.nd.empty([int(extent) for extent in arrays[-1].shape], args[-1].dtype)
    tvm.build(schedule, args, "llvm")(*[tvm.nd.array(array) for array in arrays[:-1]], out)
    return out.numpy()


def numbers(*shape):
    return np.random.default_rng(7).integers(-4, 5, shape).astype("float32")


def cached_matmul():
    A, B = te.placeholder((16, 12), name="A"), te.placeholder((12, 8), name="B")
    k = te.reduce_axis((0, 12), name="k")
    C = te.compute((16, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C", tag="matmul", attrs={"rank": 2})
    D = te.compute((16, 8), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    AL, CL = s.cache_read(A, "local", [C]), s.cache_write(C, "local")
    s[C].compute_inline()
    xo, yo, xi, yi = s[D].tile(*D.op.axis, 5, 4)
    s[D].fuse(xo, yo)
    s[D].vectorize(yi)
    s[CL].compute_at(s[D], s[D].leaf_iter_vars[0])
    ko, ki = s[CL].split(CL.op.reduce_axis[0], nparts=3)
    s[CL].reorder(ko, CL.op.axis[0], ki)
    s[CL].unroll(ki)
    s[AL].compute_at(s[CL], ko)
    s[AL].storage_align(AL.op.axis[0], 8, 1)
    s[D].pragma(xi, "auto_unroll_max_step", 16)
    return s


def test_what_is_said_of_stages_is_said_of_loaded_ones():
    s = cached_matmul()
    a, b = numbers(16, 12), numbers(12, 8)
    for loaded in loaded_in_each_way(s):
        assert isinstance(loaded, te.schedule.Schedule)
        assert str(loaded.outputs[0].body) == str(s.outputs[0].body)
        assert [stage.op.name for stage in loaded.stages] == [stage.op.name for stage in s.stages]
        for stage, before in zip(loaded.stages, s.stages):
            assert [axis.var.name for axis in stage.leaf_iter_vars] == [axis.var.name for axis in before.leaf_iter_vars]
            assert stage.attach_type == before.attach_type and stage.scope == before.scope
            assert [type(each) for each in stage.relations] == [type(each) for each in before.relations]
        names = tensors_of(loaded)
        matmul = names["C"].op
        assert matmul.tag == "matmul" and int(matmul.attrs["rank"]) == 2
        args, old = [names[name] for name in "ABD"], [tensors_of(s)[name] for name in "ABD"]
        tvm.ir.assert_structural_equal(loaded.lower(args, "main"), s.lower(old, "main"))
        np.testing.assert_array_equal(results(loaded, args, [a, b, np.empty((16, 8))]), a @ b + 1)


def test_unknown_lengths_are_one_variable():
    n = te.size_var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n, 4), name="B")
    C = te.compute((n, 4), lambda i, j: A[i] * B[i, j] + tir.Cast("float32", i), name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 8)
    for loaded in loaded_in_each_way(s):
        names = tensors_of(loaded)
        length = names["A"].shape[0]
        assert isinstance(length, tir.SizeVar) and length.name == "n"
        assert all(names[name].shape[0].same_as(length) for name in "BC")
        a, b = numbers(11), numbers(11, 4)
        expected = a[:, None] * b + np.arange(11)[:, None]
        np.testing.assert_array_equal(results(loaded, [names[name] for name in "ABC"], [a, b, expected]), expected)


def test_threads_layouts_and_groups_are_loaded():
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 16), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((8, 16), lambda i, j: C[i, j] - 3.0, name="D")
    s = te.create_schedule(D.op)
    s[B].transform_layout(lambda i, j: [j, i // 4, i % 4])
    group = s.create_group(outputs=C, inputs=B)
    s[D].bind(D.op.axis[0], te.thread_axis((0, 8), "blockIdx.x", "bx"))
    group.compute_at(s[D], D.op.axis[0])
    for loaded in loaded_in_each_way(s):
        names = tensors_of(loaded)
        stages = [loaded[names[name]] for name in "BCD"]
        assert stages[1].group == loaded.groups[0] and stages[0].group is None and stages[2].group is None
        assert loaded.groups[0].attach_stage == stages[2] and loaded.groups[0].num_child_stages == 1
        thread = stages[2].iter_var_attrs[stages[2].op.axis[0]].bind_thread
        assert thread.thread_tag == "blockIdx.x" and thread.var.name == "bx" and int(thread.dom.extent) == 8
        args, old = [names["A"], names["D"]], [A, D]
        tvm.ir.assert_structural_equal(loaded.lower(args, "main"), s.lower(old, "main"))


def test_scans_and_externs_are_loaded():
    X, state = te.placeholder((6, 4), name="X"), te.placeholder((6, 4), name="state")
    init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    update = te.compute((6, 4), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    sums = te.scan(init, update, state, inputs=[X], name="sums")

    def negate(ins, outs):
        builder = tir.ir_builder.create()
        source, target = builder.buffer_ptr(ins[0]), builder.buffer_ptr(outs[0])
        with builder.for_range(0, 24) as i:
            target[i // 4, i % 4] = -source[i // 4, i % 4]
        return builder.get()

    result = te.extern((6, 4), [sums], negate, name="negated")
    s = te.create_schedule(result.op)
    s[update].split(update.op.axis[1], 2)
    x = numbers(6, 4)
    for loaded in loaded_in_each_way(s):
        names = tensors_of(loaded)
        args = [names["X"], names["negated"]]
        np.testing.assert_array_equal(results(loaded, args, [x, x]), -np.cumsum(x, 0))


def test_several_results_of_a_reduction_are_loaded():
    A = te.placeholder((6, 10), name="A")
    k = te.reduce_axis((0, 10), name="k")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], tir.max(x[1], y[1])),
                           lambda first, second: (tir.const(0, first), te.min_value(second)), name="both")
    total, most = te.compute((6,), lambda i: both((A[i, k], A[i, k]), axis=k, where=k > 2), name="B")
    C = te.compute((6,), lambda i: total[i] * most[i], name="C")
    a = numbers(6, 10)
    for loaded in loaded_in_each_way(te.create_schedule(C.op)):
        names = tensors_of(loaded)
        expected = a[:, 3:].sum(1) * a[:, 3:].max(1)
        np.testing.assert_array_equal(results(loaded, [names["A"], names["C"]], [a, expected]), expected)


def test_tensors_and_operations_are_loaded():
    A = te.placeholder((6,), "int32", name="A")
    B0, B1 = te.compute((6,), lambda i: (A[i] + 1, A[i] * 2), name="B")
    tensor, op = pickle.loads(pickle.dumps(B1)), tvm.ir.load_json(tvm.ir.save_json(B1.op))
    assert tensor.value_index == 1 and tensor.dtype == "int32" and str(tensor.op.body[1]) == "A[i] * 2"
    assert op.name == "B" and op.num_outputs == 2 and op.input_tensors[0].name == "A"


def test_what_has_no_text_is_refused():
    x, y = te.placeholder((16,), name="x"), te.placeholder((4,), name="y")
    z, part = (te.compute(t.shape, lambda i: t[i] + 1.0, name="z") for t in (x, y))
    intrin = te.decl_tensor_intrin(part.op, lambda ins, outs: outs[0].vstore(0, ins[0].vload(0, "float32x4") + 1.0))
    s = te.create_schedule(z.op)
    _, inner = s[z].split(z.op.axis[0], 4)
    s[z].tensorize(inner, intrin)
    with pytest.raises(TypeError, match="stage z runs a tensor intrinsic"):
        pickle.dumps(s)
    n = te.var("n")
    other = te.create_schedule(z.op)
    other[z].split(z.op.axis[0], n)
    with pytest.raises(TypeError, match="stage z is split by n"):
        tvm.ir.save_json(other)


if __name__ == "__main__":
    tvm.testing.main()
