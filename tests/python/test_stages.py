"""Classic schedules: stages, their loops and places, and the programs that come of them."""
import numpy as np
import pytest

import lathe.compat

lathe.compat.install_as("tvm")

import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import te, tir  # noqa: E402
from tvm.script import tir as T  # noqa: E402


def built_in_each_way(schedule, args):
    """The schedule, and what lower makes of it, as kernels."""
    return [tvm.build(schedule, args, target="llvm"), tvm.build(tvm.lower(schedule, args), target="llvm"),
            tvm.build(tvm.lower(schedule, args, simple_mode=True), target="llvm")]


def run(schedule, args, *arrays):
    """What the last of args is, computed by the built schedule, and by what lower makes of it."""
    results = []
    for func in built_in_each_way(schedule, args):
        results.append(tvm.nd.empty([int(extent) for extent in args[-1].shape], args[-1].dtype))
        func(*[tvm.nd.array(array) for array in arrays], results[-1])
    for result in results[1:]:
        np.testing.assert_array_equal(result.numpy(), results[0].numpy())
    return results[0].numpy()


def loops_of(stmt):
    found = []
    tir.stmt_functor.pre_order_visit(stmt, lambda node: found.append(node) or True if isinstance(node, tir.For) else True)
    return found


def matmul(n, m, l):
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


def test_panels_of_vectors_are_built_from_what_lower_makes_of_them():
    # StorageRewrite makes P memory of float32x16.
    A, B = te.placeholder((32, 24), name="A"), te.placeholder((24, 48), name="B")
    k = te.reduce_axis((0, 24), "k")
    P = te.compute((3, 24, 16), lambda o, k, i: B[k, o * 16 + i], name="P")
    C = te.compute((32, 48), lambda m, n: te.sum(A[m, k] * P[n // 16, k, tir.indexmod(n, 16)], axis=k), name="C")
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    _, no, _, _ = s[C].tile(C.op.axis[0], C.op.axis[1], 16, 16)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    ko, ki = s[CC].split(s[CC].op.reduce_axis[0], factor=4)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[P].vectorize(s[P].op.axis[2])
    a = np.random.default_rng(7).integers(-4, 5, (32, 24)).astype("float32")
    b = np.random.default_rng(8).integers(-4, 5, (24, 48)).astype("float32")
    assert "float32x16" in tvm.lower(s, [A, B, C])["main"].script()
    np.testing.assert_array_equal(run(s, [A, B, C], a, b), a @ b)


def numbers(*shape):
    return np.random.default_rng(7).integers(-4, 5, shape).astype("float32")


def test_loops_are_split_tiled_fused_and_ordered():
    A, B, C = matmul(30, 24, 10)
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=8, y_factor=6)  # 8 does not divide 30.
    assert tuple(s[C].leaf_iter_vars) == (xo, yo, xi, yi, C.op.reduce_axis[0])
    ko, ki = s[C].split(C.op.reduce_axis[0], nparts=2)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    fused = s[C].fuse(xo, yo)
    assert tuple(s[C].leaf_iter_vars) == (fused, ko, xi, ki, yi)
    assert [type(each).__name__ for each in s[C].relations] == ["Split", "Split", "Split", "Fuse"]
    assert s[C].relations[-1].fused.same_as(fused) and s[C].relations[0].parent.same_as(C.op.axis[0])
    s[C].vectorize(yi)
    s[C].unroll(ki)
    s[C].parallel(fused)
    assert s[C].iter_var_attrs[yi].iter_type == tir.IterVar.Vectorized
    assert s[C].iter_var_attrs[ki].iter_type == te.schedule.IterVar.Unrolled
    a, b = numbers(30, 10), numbers(10, 24)
    np.testing.assert_array_equal(run(s, [A, B, C], a, b), a @ b)


def test_stages_go_into_each_other_and_inline():
    A, B, C = matmul(16, 16, 16)
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1.0, name="D")
    E = te.compute((16, 16), lambda i, j: D[i, j] * 2.0, name="E")
    s = te.create_schedule(E.op)
    s[D].compute_inline()
    outer, inner = s[E].split(E.op.axis[0], factor=4)
    s[C].compute_at(s[E], outer)
    bounds = te.schedule.InferBound(s)
    assert int(bounds[C.op.axis[0]].extent) == 4 and int(bounds[C.op.axis[1]].extent) == 16
    tvm.ir.assert_structural_equal(bounds[C.op.axis[0]].min, outer.var * 4)
    assert int(bounds[outer].extent) == 4 and int(bounds[inner].extent) == 4
    a, b = numbers(16, 16), numbers(16, 16)
    np.testing.assert_array_equal(run(s, [A, B, E], a, b), (a @ b + 1) * 2)


def test_caches_hold_what_is_read_and_written():
    A, B, C = matmul(16, 8, 12)
    s = te.create_schedule(C.op)
    AL = s.cache_read(A, "local", [C])
    CL = s.cache_write(C, "local")
    assert AL.op.name == "A.local" and CL.op.name == "C.local" and s[AL].scope == "local"
    xo, xi = s[C].split(C.op.axis[0], factor=4)
    s[CL].compute_at(s[C], xo)
    s[AL].compute_at(s[CL], CL.op.reduce_axis[0])
    a, b = numbers(16, 12), numbers(12, 8)
    np.testing.assert_array_equal(run(s, [A, B, C], a, b), a @ b)


def two_results():
    A0, A1 = te.placeholder((8, 8), name="A0"), te.placeholder((8, 8), name="A1")
    B0, B1 = te.compute((8, 8), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
    return A0, A1, B0, B1, te.compute((8, 8), lambda i, j: B0[i, j] + B1[i, j], name="C")


@pytest.mark.parametrize("is_inside", [False, True])
def test_all_results_of_an_operation_are_cached_together(is_inside):
    A0, A1, B0, B1, C = two_results()
    s = te.create_schedule(C.op)
    caches = s.cache_write([B0, B1], "local")
    assert len(caches) == 2 and caches[0].op == caches[1].op and caches[0].op.name == "B.local"
    assert s[caches[0]].scope == "local" and [stage.op.name for stage in s.stages] == ["A0", "A1", "B.local", "B", "C"]
    if is_inside:
        s[B0].compute_at(s[C], C.op.axis[0])
        s[caches[0].op].compute_at(s[C], C.op.axis[0])
    a, b = numbers(8, 8), numbers(8, 8) + 1
    np.testing.assert_array_equal(run(s, [A0, A1, C], a, b), a + 2 + b * 3)
    scopes = {}
    tir.stmt_functor.post_order_visit(s.lower([A0, A1, C], "main").body, lambda node: isinstance(
        node, tir.BufferStore) and scopes.update({node.buffer.name: node.buffer.scope()}))
    assert scopes == {"B.local_v0": "local", "B.local_v1": "local", "B_v0": "global", "B_v1": "global", "C": "global"}


def test_results_of_one_reduction_are_cached_together():
    A = te.placeholder((6, 10), name="A")
    k = te.reduce_axis((0, 10), name="k")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], tir.max(x[1], y[1])),
                           lambda first, second: (tir.const(0, first), te.min_value(second)), name="both")
    total, most = te.compute((6,), lambda i: both((A[i, k], A[i, k]), axis=k), name="B")
    s = te.create_schedule(total.op)
    cached, _ = s.cache_write((total, most), "local")
    s[cached].compute_at(s[total], total.op.axis[0])
    a = numbers(6, 10)
    run_stages(s, [A, total, most], [a], [a.sum(1), a.max(1)])


def test_caches_of_lists_are_of_all_results_of_one_operation():
    A0, A1, B0, B1, C = two_results()
    s = te.create_schedule(C.op)
    for tensors, message in (([], "no tensors"), ([B0, C], "is no result of"), ([B0], "give a list of all")):
        with pytest.raises(tvm.TVMError, match=message):
            s.cache_write(tensors, "local")
    with pytest.raises(tvm.TVMError, match="has several results"):
        s.cache_write(B1, "local")
    assert [each.op.name for each in s.cache_write([C], "local")] == ["C.local"]


@pytest.mark.parametrize("factor_axis, shape", [(0, (4, 8)), (1, (8, 4))])
def test_rfactor_makes_a_loop_of_a_reduction_a_dimension(factor_axis, shape):
    A = te.placeholder((8, 18), name="A")
    k = te.reduce_axis((0, 18), name="k")
    B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, factor=4)  # 4 does not divide 18.
    BF = s.rfactor(B, ki, factor_axis)
    assert tuple(int(extent) for extent in BF.shape) == shape and BF.op.name == "B.rf"
    assert BF.op.reduce_axis[0].var.same_as(ko.var)
    assert int(s[B].op.reduce_axis[0].dom.extent) == 4 and len(s[B].all_iter_vars) == 2
    a = numbers(8, 18)
    np.testing.assert_array_equal(run(s, [A, B], a), a.sum(1))


def test_threads_are_bound():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    thread = te.thread_axis("threadIdx.x")
    s[B].bind(tx, thread)
    assert s[B].iter_var_attrs[tx].bind_thread.same_as(thread)
    func = s.lower([A, B], "main")
    kinds = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: isinstance(node, tir.For) and kinds.append(node.thread_binding.thread_tag))
    assert kinds == ["threadIdx.x", "blockIdx.x"]


def test_lower_gives_loops_without_blocks():
    A = te.placeholder((43,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 2.0, name="B")
    for disable_predication in (True, False):
        s = te.create_schedule(B.op)
        s[B].split(s[B].op.axis[0], factor=4, disable_predication=disable_predication)
        body = tvm.lower(s, [A, B], simple_mode=True)["main"].body
        conditions = []
        tir.stmt_functor.post_order_visit(
            body, lambda node: isinstance(node, tir.IfThenElse) and conditions.append(node))
        assert bool(conditions) != disable_predication
        kinds = set()
        tir.stmt_functor.post_order_visit(body, lambda node: kinds.add(type(node)))
        assert tir.For in kinds and tir.BlockRealize not in kinds


def test_a_stage_of_no_axes_has_a_loop_of_its_own():
    A = te.placeholder((), name="A")
    T = te.compute((), lambda: A() + 1.0, name="T")
    s = te.create_schedule(T.op)
    fused = s[T].fuse()
    assert tuple(s[T].leaf_iter_vars) == (fused,)
    assert isinstance(s[T].relations[0], te.schedule.Singleton)
    assert run(s, [A, T], np.array(2, "float32")) == 3


def test_fuse_of_no_axes_puts_a_loop_around_the_others():
    A, B, C = matmul(6, 4, 10)
    D = te.compute((6, 4), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], 3)
    around = s[D].fuse()
    assert tuple(s[D].leaf_iter_vars) == (around, outer, inner, D.op.axis[1])
    assert int(te.schedule.InferBound(s)[around].extent) == 1
    s[C].compute_at(s[D], around)
    within = s[C].fuse()
    s[C].parallel(within)
    assert loop_names(s.lower([A, B, D], "main")) == ["singleton", "singleton", "i", "j", "k", "i.outer", "i.inner", "j"]
    a, b = numbers(6, 10), numbers(10, 4)
    np.testing.assert_array_equal(run(s, [A, B, D], a, b), a @ b + 1)


def test_pragmas_are_kept_and_some_mean_loops():
    A = te.placeholder((100,), name="A")
    T = te.compute((100,), lambda i: A[i], name="T")
    s = te.create_schedule(T.op)
    xo, xi = s[T].split(T.op.axis[0], factor=10)
    s[T].pragma(xo, "pragma1")
    s[T].pragma(xi, "vectorize")
    assert s[T].iter_var_attrs[xo].pragma_keys[0].value == "pragma1"
    assert s[T].iter_var_attrs[xi].iter_type == te.schedule.IterVar.Vectorized


def test_errors_say_what_to_do():
    A, B, C = matmul(8, 8, 8)
    i, j, k = [*C.op.axis, *C.op.reduce_axis]
    s = te.create_schedule(C.op)
    with pytest.raises(RuntimeError, match="vectorize, stage \"C\": axis \"k\" is reduced over"):
        s[C].vectorize(k)
    with pytest.raises(tvm.error.TVMError, match="named twice"):
        s[C].reorder(i, j, i)
    with pytest.raises(RuntimeError, match="does not follow"):
        s[C].fuse(k, i)
    with pytest.raises(RuntimeError, match="cannot be inside itself"):
        s[C].compute_at(s[C], i)
    for options in ({}, {"factor": 2, "nparts": 2}):
        with pytest.raises(ValueError, match="either a factor or nparts"):
            s[C].split(i, **options)
    for program in (3, [A, B, C]):
        with pytest.raises(ValueError, match="expected an IRModule, a PrimFunc or a schedule"):
            tvm.lower(program)
    with pytest.raises(tvm.TVMError, match="argument 1 is neither a tensor nor a variable: 'x'"):
        tvm.lower(s, [A, "x"])
    with pytest.raises(ValueError, match="gives a statement or an expression, not 3"):
        te.extern((4,), [A], lambda ins, outs: 3)
    with pytest.raises(ValueError, match="has no stage"):
        s[te.compute((4,), lambda x: x, name="other")]
    with pytest.raises(ValueError, match="needs args"):
        tvm.build(s)


def run_stages(schedule, args, inputs, expected):
    for func in built_in_each_way(schedule, args):
        outputs = [tvm.nd.array(np.zeros(each.shape, each.dtype)) for each in expected]
        func(*[tvm.nd.array(each) for each in inputs], *outputs)
        for output, each in zip(outputs, expected):
            np.testing.assert_allclose(output.numpy(), each, rtol=1e-5)


def cumulative_sum():
    m, n = te.var("m"), te.var("n")
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i])
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, init, update, te.scan(init, update, state, inputs=[X])


def test_a_scan_runs_step_by_step():
    X, init, update, result = cumulative_sum()
    schedule = te.create_schedule(result.op)
    a = np.random.RandomState(0).rand(8, 20).astype("float32")
    run_stages(schedule, [X, result], [a], [np.cumsum(a, 0)])


def test_inner_loops_of_a_scan_are_scheduled():
    X, init, update, result = cumulative_sum()
    schedule = te.create_schedule(result.op)
    _, inner = schedule[init].split(init.op.axis[1], factor=8)
    schedule[init].vectorize(inner)
    schedule[update].split(update.op.axis[1], factor=8)
    a = np.random.RandomState(0).rand(5, 20).astype("float32")
    run_stages(schedule, [X, result], [a], [np.cumsum(a, 0)])
    with pytest.raises(tvm.TVMError, match="step of a scan"):
        other = te.create_schedule(result.op)
        other[update].split(update.op.axis[0], factor=2)
        tvm.lower(other, [X, result])


def test_a_scan_of_several_states_computes_what_is_between_them_in_each_step():
    m, n, l = 6, 8, 4
    x1, x2 = te.placeholder((m, n), name="x1"), te.placeholder((m, l), name="x2")
    s1, s2 = te.placeholder((m, n)), te.placeholder((m, l))
    i1, i2 = te.compute((1, n), lambda _, i: x1[0, i]), te.compute((1, l), lambda _, i: x2[0, i])
    double = te.compute((m, n), lambda t, i: s1[t - 1, i] * 2, name="double")
    u1 = te.compute((m, n), lambda t, i: double[t, i] + x1[t, i])
    u2 = te.compute((m, l), lambda t, i: s2[t - 1, i] + s1[t - 1, 0] + x2[t, i])
    r1, r2 = te.scan([i1, i2], [u1, u2], [s1, s2], inputs=[x1, x2])
    schedule = te.create_schedule(r1.op)
    schedule[double].compute_at(schedule[u1], u1.op.axis[0])
    a, b = (np.random.RandomState(0).rand(m, each).astype("float32") for each in (n, l))
    e1, e2 = a.copy(), b.copy()
    for t in range(1, m):
        e1[t] = e1[t - 1] * 2 + a[t]
        e2[t] = e2[t - 1] + e1[t - 1, 0] + b[t]
    run_stages(schedule, [x1, x2, r1, r2], [a, b], [e1, e2])


def recurrence(combine):
    """The state of a step is what x1 and X make, x1 what `combine` makes of the state before."""
    m, n = te.var("m"), te.var("n")
    X, state = te.placeholder((m, n), name="X"), te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    x1 = te.compute((m, n), lambda t, i: combine(state[t - 1, i]), name="x1")
    x2 = te.compute((m, n), lambda t, i: x1[t, i] + 1.0, name="x2")
    update = te.compute((m, n), lambda t, i: x2[t, i] + X[t, i], name="update")
    return X, x1, x2, te.scan(init, update, state, inputs=[X])


def recurrence_by_numpy(a):
    states = a.copy()
    for t in range(1, len(a)):
        states[t] = states[t - 1] * 2 + 1 + a[t]
    return states


@pytest.mark.parametrize("inlined", [(0,), (1,), (0, 1)])
def test_what_a_step_computes_on_the_way_is_inlined(inlined):
    X, x1, x2, result = recurrence(lambda before: before * 2.0)
    schedule = te.create_schedule(result.op)
    for each in inlined:
        schedule[(x1, x2)[each]].compute_inline()
    a = np.random.RandomState(0).rand(6, 9).astype("float32")
    run_stages(schedule, [X, result], [a], [recurrence_by_numpy(a)])
    names = set()
    tir.stmt_functor.post_order_visit(schedule.lower([X, result], "main").body,
                                      lambda node: isinstance(node, tir.BufferStore) and names.add(node.buffer.name))
    assert names == {"init", "scan", "update", *(name for i, name in enumerate(("x1", "x2")) if i not in inlined)}


def test_memory_of_a_step_holds_one_step():
    X, x1, x2, result = recurrence(lambda before: before * 2.0)
    func = te.create_schedule(result.op).lower([X, result], "main")
    held = {}
    tir.stmt_functor.post_order_visit(func.body, lambda node: isinstance(node, tir.Block) and held.update(
        {node.name_hint: [buffer.name for buffer in node.alloc_buffers]}))
    assert held["scan"] == ["x1", "x2"] and held["root"] == ["init", "update"]


def test_what_others_read_of_a_step_stays():
    X, x1, x2, result = recurrence(lambda before: before * 2.0)
    schedule = te.create_schedule(result.op)
    m, n = X.shape
    a = np.random.RandomState(0).rand(6, 9).astype("float32")
    func = tvm.build(schedule, [X, x1, result], "llvm")  # An argument holds all steps.
    between, states = tvm.nd.array(np.zeros((6, 9), "float32")), tvm.nd.array(np.zeros((6, 9), "float32"))
    func(tvm.nd.array(a), between, states)
    np.testing.assert_allclose(states.numpy(), recurrence_by_numpy(a), rtol=1e-5)
    np.testing.assert_allclose(between.numpy()[1:], states.numpy()[:-1] * 2, rtol=1e-5)


def test_a_group_takes_one_place():
    x = te.placeholder((16,), name="x")
    x1 = te.compute((16,), lambda i: x[i] + 1, name="x1")
    x2 = te.compute((16,), lambda i: x1[i] + 2, name="x2")
    x3 = te.compute((16,), lambda i: x2[i] + 3, name="x3")
    schedule = te.create_schedule(x3.op)
    schedule.create_group(outputs=x2, inputs=x).compute_at(schedule[x3], x3.op.axis[0])
    a = np.arange(16, dtype="float32")
    run_stages(schedule, [x, x3], [a], [a + 6])
    text = str(tvm.IRModule({"main": schedule.lower([x, x3], "main")}))
    assert text.count("for ") == 3  # One loop around, and a unit loop for each of the group.


def chain(extent=16):
    x = te.placeholder((extent,), name="x")
    x1 = te.compute((extent,), lambda i: x[i] + 1, name="x1")
    x2 = te.compute((extent,), lambda i: x1[i] + 2, name="x2")
    x3 = te.compute((extent,), lambda i: x2[i] + 3, name="x3")
    return x, x1, x2, x3


def test_stages_and_groups_know_their_places():
    x, x1, x2, x3 = chain()
    s = te.create_schedule(x3.op)
    assert s[x3].is_output and not s[x1].is_output and s[x1].group is None and len(s.groups) == 0
    assert s[x1].attach_type == 1 and s[x1].attach_stage is None and s[x1].attach_ivar is None
    s[x1].compute_at(s[x2], x2.op.axis[0])
    assert s[x1].attach_type == 4 and s[x1].attach_stage == s[x2] and s[x1].attach_ivar.same_as(x2.op.axis[0])
    group = s.create_group(outputs=x2, inputs=x)
    assert s[x1].group == group == s[x2].group == s.groups[0] and s[x3].group is None
    assert group.num_child_stages == 2 and group.group is None and group.attach_type == 1
    group.compute_at(s[x3], x3.op.axis[0])
    assert group.attach_type == 4 and group.attach_stage == s[x3] and group.attach_ivar.same_as(x3.op.axis[0])
    assert s[x2].attach_type == 1 and s[x2].attach_stage is None and s[x1].attach_type == 4
    bounds = te.schedule.InferBound(s)
    assert int(bounds[x1.op.axis[0]].extent) == int(bounds[x2.op.axis[0]].extent) == 1
    a = numbers(16)
    np.testing.assert_array_equal(run(s, [x, x3], a), a + 6)
    s[x1].compute_inline()
    assert s[x1].attach_type == 2
    group.compute_root()
    assert group.attach_stage is None and int(te.schedule.InferBound(s)[x2.op.axis[0]].extent) == 16


def test_groups_are_in_groups():
    x, x1, x2, x3 = chain()
    beside = te.compute((16,), lambda i: x3[i] * x3[i], name="beside")
    s = te.create_schedule(beside.op)
    inner = s.create_group(outputs=x1, inputs=x, include_inputs=True)
    assert inner.num_child_stages == 2  # x is one of them.
    outer = s.create_group(outputs=x2, inputs=x, include_inputs=True)
    assert s[x1].group == inner and inner.group == outer == s[x2].group and outer.num_child_stages == 2
    with pytest.raises(tvm.TVMError, match="take all of it"):
        s.create_group(outputs=x3, inputs=x2, include_inputs=True)
    with pytest.raises(tvm.TVMError, match="compute_at, stage \"x3\": it is outside of the group"):
        s[x1].compute_at(s[x3], x3.op.axis[0])
    with pytest.raises(tvm.TVMError, match="nothing computes the outputs from the inputs"):
        s.create_group(outputs=x1, inputs=x3)
    with pytest.raises(tvm.TVMError, match="the group holds stage \"x2\""):
        outer.compute_at(s[x2], x2.op.axis[0])
    cached = s.cache_write(x2, "local")
    assert s[cached].group == outer and outer.num_child_stages == 3


def test_a_group_is_what_leads_from_inputs_to_outputs():
    x, y = te.placeholder((16,), name="x"), te.placeholder((16,), name="y")
    x1 = te.compute((16,), lambda i: x[i] + 1, name="x1")
    y1 = te.compute((16,), lambda i: y[i] + 1, name="y1")
    z = te.compute((16,), lambda i: x1[i] + y1[i], name="z")
    s = te.create_schedule(z.op)
    group = s.create_group(outputs=z, inputs=x)
    assert s[x1].group == s[z].group == group and s[y1].group is None and group.num_child_stages == 2


def test_what_the_steps_of_a_scan_compute_is_a_group():
    X, x1, x2, result = recurrence(lambda before: before * 2.0)
    s = te.create_schedule(result.op)
    group = s[x1].group
    assert group == s[x2].group == s[s[result].op.input_tensors[1]].group and group.num_child_stages == 3
    assert group.attach_type == 5 and group.attach_stage == s[result] and s[result].group is None


def test_relations_say_by_what_they_split():
    x, x1, x2, x3 = chain()
    s = te.create_schedule(x3.op)
    outer, inner = s[x3].split(x3.op.axis[0], 4)
    s[x3].split(outer, nparts=2)
    first, second = s[x3].relations
    assert int(first.factor) == 4 and first.nparts is None and int(second.nparts) == 2 and second.factor is None


def test_transform_layout_of_a_stage_changes_memory_and_loops():
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((16, 16), lambda i, j: B[i, j] * 2, name="C")
    schedule = te.create_schedule(C.op)
    axes = schedule[B].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i // 4, i % 4])
    assert axes[1] == te.AXIS_SEPARATOR and len(axes) == 4
    schedule[B].vectorize(axes[3])
    func = schedule.lower([A, C], "main")
    layout = func.body.block.alloc_buffers[0]
    assert list(layout.shape) == [16, 4, 4] and list(layout.axis_separators) == [1]
    other = te.create_schedule(C.op)
    other[B].transform_layout(lambda i, j: [j, i // 4, i % 4])
    a = np.random.RandomState(0).rand(16, 16).astype("float32")
    run_stages(other, [A, C], [a], [(a + 1) * 2])


def test_loops_of_several_results_are_scheduled_together():
    A = te.placeholder((16,), name="A")
    B, C = te.compute((16,), lambda i: (A[i] + 1, A[i] * 2), name="BC")
    schedule = te.create_schedule(B.op)
    schedule[B].split(B.op.axis[0], 4)
    a = np.arange(16, dtype="float32")
    run_stages(schedule, [A, B, C], [a], [a + 1, a * 2])


def test_hints_change_nothing():
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16, 16), lambda i, j: A[i, j] + 1, name="B")
    schedule = te.create_schedule(B.op)
    schedule[B].prefetch(A, B.op.axis[0], 1)
    with pytest.raises(ValueError, match="no loop of the stage"):
        schedule[B].prefetch(A, te.reduce_axis((0, 4)), 1)
    a = np.ones((16, 16), "float32")
    run_stages(schedule, [A, B], [a], [a + 1])


def vector_add(n):
    x, y = te.placeholder((n,), name="vx"), te.placeholder((n,), name="vy")
    z = te.compute((n,), lambda i: x[i] + y[i], name="z")

    def body(ins, outs):
        return outs[0].vstore(0, ins[0].vload(0, f"float32x{n}") + ins[1].vload(0, f"float32x{n}"))

    return te.decl_tensor_intrin(z.op, body, default_buffer_params={"offset_factor": n})


def test_a_loop_runs_an_intrinsic():
    x, y = te.placeholder((128,), name="x"), te.placeholder((128,), name="y")
    z = te.compute((128,), lambda i: x[i] + y[i], name="z")
    schedule = te.create_schedule(z.op)
    _, inner = schedule[z].split(z.op.axis[0], factor=16)
    schedule[z].tensorize(inner, vector_add(16))
    a, b = (np.random.RandomState(seed).rand(128).astype("float32") for seed in (0, 1))
    run_stages(schedule, [x, y, z], [a, b], [a + b])
    other = te.create_schedule(z.op)
    other[z].tensorize(z.op.axis[0], vector_add(16))
    with pytest.raises(tvm.TVMError, match="doesn't match"):
        tvm.lower(other, [x, y, z])


def vector_matrix(m, l):
    """c[i] = sum of a[k] * b[i, k], with its start and its step."""
    a, b = te.placeholder((l,), name="a"), te.placeholder((m, l), name="b")
    k = te.reduce_axis((0, l), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    strides = {a: [1], b: [te.var("s1"), 1], c: [1]}
    binds = {each: tir.decl_buffer(each.shape, each.dtype, each.op.name, offset_factor=1, strides=strides[each])
             for each in (a, b, c)}

    def loops(result, value):
        builder = tir.ir_builder.create()
        out = builder.buffer_ptr(result)
        with builder.for_range(0, m) as i:
            out[i] = value(out, i)
        return builder.get()

    def body(ins, outs):
        aa, bb = ins
        update = tir.ir_builder.create()
        out = update.buffer_ptr(outs[0])
        with update.for_range(0, m) as i:
            with update.for_range(0, l) as j:
                out[i] = out[i] + aa[j] * bb[i, j]
        reset = loops(outs[0], lambda out, i: tir.const(0.0, "float32"))
        step = update.get()
        return tir.SeqStmt([reset, step]), reset, step

    return te.decl_tensor_intrin(c.op, body, binds=binds)


@pytest.mark.parametrize("part", [16, 64])
def test_a_reduction_runs_an_intrinsic(part):
    n, m, l = 8, 32, 64
    A, B = te.placeholder((n, l), name="A"), te.placeholder((m, l), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    schedule = te.create_schedule(C.op)
    x, y = C.op.axis
    y_0, y_1 = schedule[C].split(y, factor=16)
    z_0, z_1 = schedule[C].split(C.op.reduce_axis[0], factor=part)
    schedule[C].reorder(x, y_0, z_0, y_1, z_1)
    schedule[C].tensorize(y_1, vector_matrix(16, part))
    a, b = (np.random.RandomState(0).rand(*shape).astype("float32") for shape in ((n, l), (m, l)))
    run_stages(schedule, [A, B, C], [a, b], [a @ b.T])


def test_bounds_are_in_terms_of_the_programs_variables():
    m, n = te.var("m"), te.var("n")
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] + 3, name="B")
    bounds = te.schedule.InferBound(te.create_schedule(B.op))
    assert bounds[B.op.axis[0]].extent.same_as(m) and bounds[B.op.axis[1]].extent.same_as(n)


def test_schedule_ops_gives_the_loops_as_one_statement_with_likely_guards():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((n,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    outer, _ = s[c].split(c.op.axis[0], factor=8)
    s[b].compute_at(s[c], outer)
    stmt = te.schedule.ScheduleOps(s, te.schedule.InferBound(s.normalize()))
    assert isinstance(stmt, tvm.tir.For)
    found = []
    tvm.tir.stmt_functor.post_order_visit(
        stmt, lambda node: found.append(node) if isinstance(node, tvm.tir.IfThenElse) else None)
    assert [str(branch.condition.op.name) for branch in found] == ["tir.likely", "tir.likely"]
    free = tvm.tir.analysis.undefined_vars(stmt, [])
    assert any(var.same_as(n) for var in free)
    func = te.schedule.SchedulePostProcToPrimFunc([a, c, n], stmt, None)
    assert len(func.params) == 3 and len(func.buffer_map) == 2
    with pytest.raises(ValueError):
        te.schedule.SchedulePostProcToPrimFunc([a, c, n], tvm.tir.Evaluate(0), None)


def test_storage_flatten_flattens_functions_of_stages_only():
    a = te.placeholder((4, 8), name="A")
    b = te.compute((4, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    stmt = te.schedule.ScheduleOps(s, te.schedule.InferBound(s.normalize()))
    func = te.schedule.SchedulePostProcToPrimFunc([a, b], stmt, None)
    mod = tvm.tir.transform.StorageFlatten(64)(tvm.IRModule.from_expr(func.with_attr("global_symbol", "main")))
    stores = []
    tvm.tir.stmt_functor.post_order_visit(
        mod["main"].body, lambda node: stores.append(node) if isinstance(node, tvm.tir.BufferStore) else None)
    assert [len(store.indices) for store in stores] == [1]
    tir_mod = tvm.IRModule.from_expr(te.create_prim_func([a, b]).with_attr("global_symbol", "main"))
    tvm.ir.assert_structural_equal(tvm.tir.transform.StorageFlatten(64)(tir_mod), tir_mod)


def test_a_function_gets_another_body():
    func = tvm.tir.PrimFunc([], tvm.tir.Evaluate(0)).with_attr("key", 1)
    other = func.with_body(tvm.tir.Evaluate(1))
    assert int(other.body.value) == 1 and int(other.attrs["key"]) == 1


def added_ones(binds=None, args=None, **options):
    A = te.placeholder((64,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 4)
    s[B].vectorize(inner)
    buffers = {"A": tir.decl_buffer((64,), name="given", data_alignment=16, offset_factor=4)}
    return tvm.lower(s, [buffers["A"] if args else A, B], binds={A: buffers["A"]} if binds else None, **options)["main"]


def test_tensors_become_the_buffers_that_they_are_bound_to():
    for args in (False, True):
        func = added_ones(binds=True, args=args)
        given = func.buffer_map[func.params[0]]
        assert given.name == "given" and given.data_alignment == 16
        loads = []
        tir.stmt_functor.post_order_visit(func.body, lambda node: isinstance(node, tir.BufferLoad) and loads.append(node))
        assert loads and all(load.buffer.data.same_as(given.data) for load in loads)
    A = te.placeholder((64,), name="A")
    B = te.compute(A.shape, lambda i: A[i] + 1.0, name="B")
    with pytest.raises(tvm.TVMError, match="has not the type and shape of parameter 1"):
        tvm.lower(te.create_schedule(B.op), [A, B], binds={B: tir.decl_buffer((32,))})


@pytest.mark.parametrize("way", ["args", "binds", "extent"])
def test_buffers_are_bound_to_tensors_of_unknown_length(way):
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    s, stride = te.create_schedule(B.op), te.var("s")
    bound = tir.decl_buffer(A.shape, A.dtype, name="A", strides=[stride])
    args = [bound if way == "args" else A, B] + ([n] if way == "extent" else [])
    f = tvm.lower(s, args, binds={A: bound})["main"]
    given = f.buffer_map[f.params[0]]
    assert given.strides[0].same_as(stride) and given.shape[0].same_as(n) and f.buffer_map[f.params[1]].shape[0].same_as(n)
    compact = tir.decl_buffer(A.shape, A.dtype, name="A")
    if way == "binds":
        result = tvm.nd.empty((5,))
        tvm.build(s, args, "llvm", binds={A: compact})(tvm.nd.array(np.arange(5, dtype="float32")), result)
        tvm.testing.assert_allclose(result.numpy(), np.arange(1, 6))


def test_lower_makes_what_the_passes_of_tvm_make():
    func = added_ones()

    @T.prim_func
    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
        for i_outer in range(16):
            cse_var_1: T.int32 = i_outer * 4
            B[T.Ramp(cse_var_1, 1, 4)] = A[T.Ramp(cse_var_1, 1, 4)] + T.Broadcast(T.float32(1), 4)

    tvm.ir.assert_structural_equal(func.with_attr("global_symbol", "expected"), expected)


def loop_names(func):
    return [loop.loop_var.name for loop in loops_of(func.body)]


def doubled(simple_mode):
    m = te.var("m")
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 32)
    return tvm.lower(s, [A, B], simple_mode=simple_mode)["main"]


def test_lower_keeps_tiles_whole_in_simple_mode():
    func = doubled(simple_mode=True)

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
        m = T.int32()
        A = T.match_buffer(a, (m,))
        B = T.match_buffer(b, (m,))
        for i_outer, i_inner in T.grid((m + 31) // 32, 32):
            cse_var_1: T.int32 = i_outer * 32 + i_inner
            if T.likely(cse_var_1 < m):
                B[cse_var_1] = A[cse_var_1] * T.float32(2)

    tvm.ir.assert_structural_equal(func, expected)
    assert loop_names(func) == ["i.outer", "i.inner"]
    assert [param.name for param in func.params] == ["A", "B"]
    assert str(func).count("for i_outer, i_inner in T.grid(") == 1


def test_lower_makes_a_loop_without_the_condition_of_the_last_tile():
    func = doubled(simple_mode=False)

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        T.func_attr({"from_legacy_te_schedule": True, "tir.noalias": True})
        m = T.int32()
        A = T.match_buffer(a, (m,))
        B = T.match_buffer(b, (m,))
        cse_var_3: T.int32 = m // 32
        for i_outer, i_inner in T.grid(cse_var_3, 32):
            cse_var_2: T.int32 = i_outer * 32 + i_inner
            B[cse_var_2] = A[cse_var_2] * T.float32(2)
        for i_outer, i_inner in T.grid((m % 32 + 31) // 32, 32):
            cse_var_1: T.int32 = cse_var_3 * 32 + i_outer * 32 + i_inner
            if cse_var_1 < m:
                B[cse_var_1] = A[cse_var_1] * T.float32(2)

    tvm.ir.assert_structural_equal(func, expected)


def test_conditions_of_two_tiles_stand_where_each_is_known():
    m, n = te.var("m"), te.var("n")
    A = te.placeholder((m, n), name="A")
    B = te.compute((m, n), lambda i, j: A[i, j], name="B")
    s = te.create_schedule(B.op)
    s[B].tile(*B.op.axis, 10, 5)
    nested = []

    def note(node):
        if isinstance(node, tir.For):
            nested.append(node.loop_var.name)
        if isinstance(node, tir.IfThenElse):
            assert node.condition.op.name == "tir.likely"
            nested.append("if")
        return True

    tir.stmt_functor.pre_order_visit(tvm.lower(s, [A, B], simple_mode=True)["main"].body, note)
    assert nested == ["i.outer", "j.outer", "i.inner", "if", "j.inner", "if"]


def test_reductions_start_in_a_nest_of_their_own():
    A, B, C = matmul(16, 16, 16)
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 4, 4)
    ko, ki = s[C].split(C.op.reduce_axis[0], 4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    for func in (tvm.lower(s, [A, B, C], simple_mode=True)["main"], tvm.lower(s, [A, B, C])["main"]):
        assert loop_names(func) == ["i.outer", "j.outer", "i.inner.init", "j.inner.init", "k.outer", "k.inner", "i.inner",
                                    "j.inner"]


@pytest.mark.parametrize("is_bound", [False, True])
def test_memory_of_a_part_of_unknown_length_is_that_part(is_bound):
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    A1 = te.compute((n,), lambda i: A[i], name="A1")
    A2 = te.compute((n,), lambda i: A1[i] + 3.0, name="A2")
    s = te.create_schedule(A2.op)
    outer, _ = s[A2].split(A2.op.axis[0], factor=8)
    if is_bound:
        s[A2].bind(outer, te.thread_axis("blockIdx.x"))
    s[A1].compute_at(s[A2], outer)
    s[A1].set_scope("shared")
    stmt = te.schedule.ScheduleOps(s, te.schedule.InferBound(s.normalize()))
    func = te.schedule.SchedulePostProcToPrimFunc([A, A2], stmt, None).with_attr("global_symbol", "main")
    body = tir.transform.StorageFlatten(64)(tvm.IRModule.from_expr(func))["main"].body
    found = []
    tir.stmt_functor.post_order_visit(body, lambda node: isinstance(node, tir.Allocate) and found.append(
        ([int(extent) for extent in node.extents], node.buffer_var.type_annotation.storage_scope)))
    assert found == [([8], "shared")]


def test_programs_put_passes_between_those_of_lower():
    seen = []

    def noting(label):
        @tvm.tir.transform.prim_func_pass(opt_level=0)
        def note(func, mod, ctx):
            kinds = set()
            tir.stmt_functor.post_order_visit(func.body, lambda node: kinds.add(type(node)))
            seen.append((label, tir.BlockRealize in kinds, tir.Ramp in kinds))
            return func

        return note

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(0, noting("a")), (1, noting("b")), (3, noting("c"))]}):
        added_ones()
    assert seen == [("a", False, False), ("b", False, False), ("c", False, True)]


def test_a_store_predicate_is_about_threads():
    def reduced(with_predicate):
        A = te.placeholder((8, 32), name="A")
        k = te.reduce_axis((0, 32), name="k")
        B = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="B")
        s = te.create_schedule(B.op)
        thread = te.thread_axis("threadIdx.x")
        s[B].bind(s[B].op.axis[0], te.thread_axis("blockIdx.x"))
        s[B].bind(s[B].op.reduce_axis[0], thread)
        if with_predicate:
            s[B].set_store_predicate(thread.var.equal(0))
            with pytest.raises(ValueError, match="is no thread of the stage"):
                s[B].set_store_predicate(te.var("n") < 3)
        return s.lower([A, B], "main")

    tvm.ir.assert_structural_equal(reduced(True), reduced(False))


if __name__ == "__main__":
    tvm.testing.main()


def test_an_intrinsic_of_one_body_makes_the_whole_sum():
    """As the tutorial's gemv: what it returns alone starts the sum, too."""
    a, b = te.placeholder((16,), name="a"), te.placeholder((16, 16), name="b")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    binds = {a: tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1]),
             b: tir.decl_buffer(b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1]),
             c: tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])}

    def body(ins, outs):
        return tir.call_extern("int32", "gemv", outs[0].access_ptr("w"), ins[0].access_ptr("r"), ins[1].access_ptr("r"))

    A, B = te.placeholder((32, 16), name="A"), te.placeholder((32, 16), name="B")
    z = te.reduce_axis((0, 16), "z")
    C = te.compute((32, 32), lambda i, j: te.sum(A[i, z] * B[j, z], axis=z), name="C")
    schedule = te.create_schedule(C.op)
    x, y = C.op.axis
    y_0, y_1 = schedule[C].split(y, 16)
    schedule[C].reorder(x, y_0, y_1, z)
    schedule[C].tensorize(y_1, te.decl_tensor_intrin(c.op, body, binds=binds))
    text = str(tvm.lower(schedule, [A, B, C]))
    assert '"gemv"' in text and "T.float32(0" not in text and "in T.grid(32, 2)" in text


@pytest.mark.parametrize("act", [lambda s, B, C: s[B].compute_at(s[C], C.op.axis[0]), lambda s, B, C: s[B].compute_inline(),
                                 lambda s, B, C: s[B].parallel(B.op.axis[0])], ids=["at", "inline", "alone"])
def test_a_stage_of_several_results_moves_as_one(act):
    A0, A1 = te.placeholder((8, 8), name="A0"), te.placeholder((8, 8), name="A1")
    B0, B1 = te.compute((8, 8), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
    C = te.compute((8, 8), lambda i, j: B0[i, j] + B1[i, j], name="C")
    schedule = te.create_schedule(C.op)
    act(schedule, B0, C)
    a, b = (np.random.RandomState(seed).rand(8, 8).astype("float32") for seed in (0, 1))
    run_stages(schedule, [A0, A1, C], [a, b], [a + 2 + b * 3])
