"""What the axes of stages run over: from the loops around, the memory and the threads that share it."""
import pytest
import tvm
from tvm import te, tir


def chain(*shape):
    """A2 of A1 of A, element by element."""
    A = te.placeholder(shape, name="A")
    A1 = te.compute(shape, lambda *i: A(*i) * 2, name="A1")
    return A, A1, te.compute(shape, lambda *i: A1(*i) + 3, name="A2")


def bounds_of(schedule):
    return te.schedule.InferBound(schedule.normalize())


def test_a_tile_needs_a_tile():
    _, A1, A2 = chain(te.var("m"), te.var("n"))
    s = te.create_schedule(A2.op)
    xo, yo, xi, yi = s[A2].tile(A2.op.axis[0], A2.op.axis[1], 8, 4)
    s[A1].compute_at(s[A2], yo)
    bounds = bounds_of(s)
    assert isinstance(bounds, tvm.container.Map)
    assert bounds[A1.op.axis[0]].extent.value == 8 and bounds[A1.op.axis[1]].extent.value == 4
    assert tvm.tir.analysis.expr_deep_equal(bounds[A1.op.axis[0]].min, xo.var * 8)
    assert bounds[xi].extent.value == 8 and bounds[yi].min.value == 0


def test_threads_that_share_memory_need_all_of_it():
    _, A1, A2 = chain(te.var("m"), te.var("n"))
    for scope, rows in [("shared", 32), ("local", 2)]:
        s = te.create_schedule(A2.op)
        s[A1].set_scope(scope)
        xo, xi = s[A2].split(A2.op.axis[0], 32)
        x0, x1 = s[A2].split(xi, nparts=16)
        thread = te.thread_axis("threadIdx.x")
        s[A2].bind(x0, thread)
        yo, yi = s[A2].split(A2.op.axis[1], 16)
        s[A2].reorder(xo, x0, yo, x1, yi)
        s[A1].compute_at(s[A2], yo)
        bounds = bounds_of(s)
        assert bounds[A1.op.axis[0]].extent.value == rows and bounds[A1.op.axis[1]].extent.value == 16
        assert bounds[thread].extent.value == 16


def test_memory_without_a_scope_is_as_wide_as_the_threads_around():
    _, A1, A2 = chain(1024)
    s = te.create_schedule(A2.op)
    block, rest = s[A2].split(A2.op.axis[0], 128)
    thread, inner = s[A2].split(rest, 4)
    s[A2].bind(block, te.thread_axis("blockIdx.x"))
    s[A1].compute_at(s[A2], block)
    assert bounds_of(s)[A1.op.axis[0]].extent.value == 128
    s[A2].bind(thread, te.thread_axis("threadIdx.x"))
    s[A1].compute_at(s[A2], thread)
    bounds = bounds_of(s)
    assert bounds[A1.op.axis[0]].extent.value == 4
    assert "threadIdx_x * 4" in str(bounds[A1.op.axis[0]].min)


def test_warps_share_along_x_alone():
    _, A1, A2 = chain(1024)
    s = te.create_schedule(A2.op)
    s[A1].set_scope("warp")
    xo, xi = s[A2].split(A2.op.axis[0], 32)
    y, x = s[A2].split(xi, factor=16)
    s[A2].bind(x, te.thread_axis("threadIdx.x"))
    s[A2].bind(y, te.thread_axis("threadIdx.y"))
    s[A1].compute_at(s[A2], y)
    assert bounds_of(s)[A1.op.axis[0]].extent.value == 16


def test_an_axis_split_by_more_than_it_has():
    _, A1, A2 = chain(8)
    s = te.create_schedule(A2.op)
    outer, inner = s[A2].split(A2.op.axis[0], 32)
    bounds = bounds_of(s)
    assert bounds[inner].extent.value == 8 and bounds[outer].extent.value == 1
    s[A2].bind(inner, te.thread_axis("threadIdx.x"))  # As many threads as was said.
    assert bounds_of(s)[inner].extent.value == 32


def test_parts_of_unknown_length():
    m, factor = te.var("m"), te.var("factor")
    A, A1, A2 = chain(m)
    s = te.create_schedule(A2.op)
    outer, inner = s[A2].split(A2.op.axis[0], factor)
    s[A1].compute_at(s[A2], outer)
    bounds = bounds_of(s)
    assert bounds[inner].extent.same_as(factor)
    assert tvm.arith.Analyzer().can_prove_equal(bounds[A1.op.axis[0]].min, outer.var * factor)
    with pytest.raises(tvm.TVMError, match="no constant"):
        tvm.lower(s, [A, A2])


def test_rows_of_fused_axes():
    m, n = te.var("m"), te.var("n")
    _, A1, A2 = chain(m, n)
    s = te.create_schedule(A2.op)
    fused = s[A2].fuse(*A2.op.axis)
    outer, _ = s[A2].split(fused, 4)
    s[A1].compute_at(s[A2], outer)
    bounds = bounds_of(s)
    assert bounds[A1.op.axis[1]].extent.same_as(n) and bounds[A1.op.axis[1]].min.value == 0
    s[A1].compute_at(s[A2], s[A2].leaf_iter_vars[-1])
    bounds = bounds_of(s)
    assert bounds[A1.op.axis[0]].extent.value == 1 and bounds[A1.op.axis[1]].extent.value == 1


def test_rows_that_a_fused_tile_stays_in():
    _, A1, A2 = chain(32, 64)
    s = te.create_schedule(A2.op)
    outer, _ = s[A2].split(s[A2].fuse(*A2.op.axis), 16)
    s[A1].compute_at(s[A2], outer)
    bounds = bounds_of(s)
    assert bounds[A1.op.axis[0]].extent.value == 1 and bounds[A1.op.axis[1]].extent.value == 16


def test_stencils_need_their_neighbours():
    n = te.var("n")
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda y, x: A[y, x] + 1, name="B")
    C = te.compute((n - 2, n - 2), lambda y, x: B[y, x] + B[y + 2, x] + B[y, x + 1], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    bounds = bounds_of(s)
    assert bounds[B.op.axis[0]].extent.value == 3 and bounds[B.op.axis[1]].extent.value == 2
    s[B].compute_at(s[C], C.op.axis[0])
    assert str(bounds_of(s)[B.op.axis[1]].extent) == "n - 1"


def test_what_is_inlined_is_read_through():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    C = te.compute((60,), lambda i: B[i + 4] * 2, name="C")
    D = te.compute((60,), lambda i: C[i] + C[59 - i], name="D")
    s = te.create_schedule(D.op)
    s[C].compute_inline()
    outer, _ = s[D].split(D.op.axis[0], 10)
    s[B].compute_at(s[D], outer)
    bounds = bounds_of(s)
    at_first = tir.stmt_functor.substitute(bounds[B.op.axis[0]].min, {outer.var: 0})
    assert tvm.arith.Analyzer().simplify(at_first).value == 4
    assert C.op.axis[0] not in bounds


def test_factored_reductions():
    A = te.placeholder((te.var("n"),), name="A")
    k = te.reduce_axis((0, A.shape[0]), "k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    parts, _ = s[B].split(k, nparts=4)
    BF = s.rfactor(B, parts)
    bounds = bounds_of(s)
    assert bounds[BF.op.axis[0]].extent.value == 4 and bounds[BF.op.axis[1]].extent.value == 1


def scan_of(step):
    m, n = te.var("m"), te.var("n")
    X = te.compute((m, n), lambda i, j: tir.const(1, "float32") * i, name="X")
    state = te.placeholder((m, n), name="state")
    first = te.compute((1, n), lambda _, i: X[0, i], name="first")
    update = te.compute((m, n), lambda t, i: step(state, t, i) + X[t, i], name="update")
    return X, update, te.scan(first, update, state)


def test_steps_of_scans():
    X, update, result = scan_of(lambda state, t, i: state[t - 1, i])
    s = te.create_schedule(result.op)
    copy = s.cache_read(X, "local", update)
    outer, _ = s[update].split(update.op.axis[1], 4)
    s[copy].compute_at(s[update], outer)
    bounds = bounds_of(s)
    assert bounds[copy.op.axis[0]].extent.value == 1 and bounds[copy.op.axis[1]].extent.value == 4
    assert bounds[update.op.axis[0]].extent.value == 1


@pytest.mark.parametrize("step, is_fixed", [
    (lambda state, t, i: state[t - 1, i], 1), (lambda state, t, i: state[t - 1, i + 1], 0),
    (lambda state, t, i: state[t - 1, 0], 0), (lambda state, t, i: state[t - 1, i] * state[t - 1, i], 1),
    (lambda state, t, i: state[t - 1, i] + state[t - 1, 3], 0)])
def test_fix_points_of_scans(step, is_fixed):
    _, update, result = scan_of(step)
    body = te.schedule.ScanGetBody(result.op)
    assert [op.name for op in body] == ["update"]
    fixed = te.schedule.ScanFixPointAnalysis(result.op)
    assert fixed[result.op.spatial_axis_[0]].value == is_fixed
    with pytest.raises(ValueError, match="is no scan"):
        te.schedule.ScanGetBody(update.op)


def test_fix_points_through_several_operations():
    m, n, k = te.var("m"), te.var("n"), te.var("k")
    state = te.placeholder((m, n, k), name="state")
    first = te.compute((1, n, k), lambda _, i, j: tir.const(0, "float32") * i, name="first")
    half = te.compute((m, k, n), lambda t, j, i: state[t - 1, i, j] * 2, name="half")
    for update, expected in [(te.compute((m, n, k), lambda t, i, j: half[t, j, i], name="same"), [1, 1]),
                             (te.compute((m, n, k), lambda t, i, j: half[t, j, i] + state[t - 1, 0, j], name="other"),
                              [0, 1])]:
        result = te.scan(first, update, state)
        fixed = te.schedule.ScanFixPointAnalysis(result.op)
        assert [fixed[axis].value for axis in result.op.spatial_axis_] == expected


def test_one_thread_has_one_extent():
    _, A1, A2 = chain(1024)
    s = te.create_schedule(A2.op)
    thread = te.thread_axis("threadIdx.x")
    for stage, factor in [(A1, 64), (A2, 32)]:
        _, inner = s[stage].split(stage.op.axis[0], factor)
        s[stage].bind(inner, thread)
    with pytest.raises(tvm.TVMError, match="different extents"):
        bounds_of(s)
