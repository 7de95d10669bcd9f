"""Classic schedules: stages, their loops and places, and the programs that come of them."""
import numpy as np
import pytest

import lathe.compat

lathe.compat.install_as("tvm")

import tvm  # noqa: E402
import tvm.testing  # noqa: E402
from tvm import te, tir  # noqa: E402


def run(schedule, args, *arrays):
    """What the last of args is, computed by the built schedule and checked against the one without stages."""
    out = tvm.nd.empty([int(extent) for extent in args[-1].shape], args[-1].dtype)
    tvm.build(schedule, args, target="llvm")(*[tvm.nd.array(array) for array in arrays], out)
    return out.numpy()


def matmul(n, m, l):
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    return A, B, te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")


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
    with pytest.raises(tvm.TVMError, match="either a factor or nparts"):
        s[C].split(i)
    with pytest.raises(ValueError, match="has no stage"):
        s[te.compute((4,), lambda x: x, name="other")]
    with pytest.raises(ValueError, match="needs args"):
        tvm.build(s)


if __name__ == "__main__":
    tvm.testing.main()
