"""Stages that have their place in another: what may be said of them then, and of the loops around."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te


def result_of(s, args, x, shape):
    out = tvm.nd.empty(shape)
    tvm.build(s, args, "llvm")(tvm.nd.array(x), out)
    return out.numpy()


def sums():
    A, k = te.placeholder((8, 16), name="A"), te.reduce_axis((0, 16), "k")
    C = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="C")
    return A, C, te.compute((8,), lambda i: C[i] * 2, name="D")


def test_rfactor_keeps_the_place():
    A, C, D = sums()
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    _, inner = s[C].split(C.op.reduce_axis[0], 4)
    s.rfactor(C, inner)
    assert s[C].attach_stage.op.same_as(s[D].op)
    x = np.random.RandomState(0).rand(8, 16).astype("float32")
    tvm.testing.assert_allclose(result_of(s, [A, D], x, (8,)), x.sum(axis=1) * 2, rtol=1e-5)


def test_rfactor_of_ragged_loops_is_refused():
    A = te.placeholder((8, 16), name="A")
    E = te.compute((8,), lambda i: te.sum(A[i, (k := te.reduce_axis((0, i + 1), "k"))], axis=k), name="E")
    s = te.create_schedule(E.op)
    with pytest.raises(tvm.TVMError, match="depends on another axis"):
        s.rfactor(E, E.op.reduce_axis[0])


@pytest.mark.parametrize("extent, parts", [(4, 3), (10, 4), (9, 8)])
def test_loops_whose_last_part_is_empty_run_side_by_side_around_an_attached_stage(extent, parts):
    A = te.placeholder((extent, 8), name="A")
    C = te.compute((extent, 8), lambda i, j: A[i, j] + 1, name="C")
    D = te.compute((extent, 8), lambda i, j: C[i, j] * 2, name="D")
    s = te.create_schedule(D.op)
    outer, _ = s[D].split(D.op.axis[0], nparts=parts)
    s[C].compute_at(s[D], outer)
    s[D].parallel(outer)
    x = np.random.RandomState(0).rand(extent, 8).astype("float32")
    tvm.testing.assert_allclose(result_of(s, [A, D], x, (extent, 8)), (x + 1) * 2, rtol=1e-5)


def test_a_rolling_buffer_computes_what_is_new_in_each_tile():
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 14), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="B")
    C = te.compute((14, 14), lambda i, j: B[i, j] + B[i + 1, j] + B[i + 2, j], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    again = tvm.ir.load_json(tvm.ir.save_json(s))
    x = np.random.RandomState(0).rand(16, 16).astype("float32")
    rows = x[:, :-2] + x[:, 1:-1] + x[:, 2:]
    tvm.testing.assert_allclose(result_of(s, [A, C], x, (14, 14)), rows[:-2] + rows[1:-1] + rows[2:], rtol=1e-5)
    assert "% 3" in s.lower([A, C], "main").script() and again[again.outputs[0].input_tensors[0].op].rolls


def test_an_axis_that_is_split_afterwards_takes_nothing():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].split(C.op.axis[0], 4)
    with pytest.raises(tvm.TVMError, match='axis "i" is no loop of stage "C" any more'):
        tvm.lower(s, [A, C])


def loops_in(stmt):
    found = []
    tvm.tir.stmt_functor.pre_order_visit(stmt, lambda each: found.append(each) or True if isinstance(each, tvm.tir.For) else True)
    return found


def test_loops_have_the_variables_of_their_axes():
    A, C, D = sums()
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], 4)
    (k,) = C.op.reduce_axis
    loops = [loop.loop_var for loop in loops_in(tvm.lower(s, [A, D])["main"].body)]
    assert [any(loop.same_as(axis.var) for loop in loops) for axis in (C.op.axis[0], k, outer, inner)] == [True] * 4
    bounds = te.schedule.InferBound(s.normalize())
    assert loops_in(te.schedule.ScheduleOps(s, bounds))[0].loop_var.same_as(C.op.axis[0].var)


def test_an_axis_of_two_stages_is_the_variable_of_one_loop():
    A, C, _ = sums()
    s = te.create_schedule(C.op)
    s.rfactor(C, s[C].split(C.op.reduce_axis[0], 4)[1], 1)
    loops = [loop.loop_var for loop in loops_in(tvm.lower(s, [A, C])["main"].body)]
    assert sum(loop.same_as(C.op.axis[0].var) for loop in loops) == 1
    x = np.random.RandomState(0).rand(8, 16).astype("float32")
    tvm.testing.assert_allclose(result_of(s, [A, C], x, (8,)), x.sum(1), rtol=1e-5)


@pytest.mark.parametrize("act", ["split", "fuse", "both"])
def test_axes_that_begin_elsewhere_are_split_and_fused(act):
    A = te.placeholder((4, 6, 9), name="A")
    k, l = te.reduce_axis((1, 5), "k"), te.reduce_axis((2, 9), "l")
    B = te.compute((4,), lambda i: te.sum(A[i, k, l], axis=[k, l]), name="B")
    s = te.create_schedule(B.op)
    if act != "fuse":
        _, k = s[B].split(k, 3)
        l, _ = s[B].split(l, 2)
    if act != "split":
        s[B].fuse(k, l)
    x = np.random.RandomState(0).rand(4, 6, 9).astype("float32")
    tvm.testing.assert_allclose(result_of(s, [A, B], x, (4,)), x[:, 1:5, 2:9].sum((1, 2)), rtol=1e-5)
