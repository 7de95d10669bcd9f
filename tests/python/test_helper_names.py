"""Names that programs reach for beside the compiler's own."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir
from tvm.script import tir as T


@T.prim_func
def add_one(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8,))
    B = T.match_buffer(b, (8,))
    for i in range(8):
        with T.block("add"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0


def _kinds(node, stops_at=""):
    seen = []

    def visit(each):
        seen.append(type(each).__name__)
        return seen[-1] != stops_at

    tir.stmt_functor.pre_order_visit(node, visit)
    return seen


def test_pre_order_visit_shows_parents_first_and_passes_over_what_it_is_told():
    loop = tir.For(tir.Var("i", "int32"), 0, 4, tir.ForKind.SERIAL, tir.Evaluate(tir.Var("x", "int32") * 2))
    assert _kinds(loop) == ["For", "IntImm", "IntImm", "Evaluate", "Mul", "Var", "IntImm"]
    assert _kinds(loop, stops_at="Evaluate") == ["For", "IntImm", "IntImm", "Evaluate"]
    assert _kinds(tir.Var("x", "int32") + 1) == ["Add", "Var", "IntImm"]


def test_extern_primfunc_computes_by_a_function():
    X = te.placeholder((8,), name="X")
    Y = te.extern_primfunc([X], add_one)
    Z = te.compute((8,), lambda i: Y[i] * 2.0, name="Z")
    x, z = tvm.nd.array(np.arange(8, dtype="float32")), tvm.nd.empty((8,))
    tvm.build(te.create_prim_func([X, Z]), target="llvm")(x, z)
    np.testing.assert_array_equal(z.numpy(), (np.arange(8) + 1) * 2)
    with pytest.raises(ValueError, match="the function reads 1 buffers, 2 tensors are given"):
        te.extern_primfunc([X, X], add_one)


def test_what_runs_here():
    assert tvm.runtime.enabled("llvm") and not tvm.runtime.enabled("cuda")
    assert tvm.runtime.num_threads() >= 1
    assert repr(tvm.opencl(1)) == "opencl(1)" and tvm.device("hexagon") == tvm.hexagon() and not tvm.rocm().exist


def _cubes(x):
    return (x**3).sum()


def test_check_numerical_grads_tells_right_slopes_from_wrong_ones():
    tvm.testing.check_numerical_grads(_cubes, [np.array([1.0, 2.0])], [np.array([3.0, 12.0])])
    with pytest.raises(AssertionError, match="of 'x' .* was given, differences say"):
        tvm.testing.check_numerical_grads(_cubes, {"x": np.array([1.0, 2.0])}, {"x": np.array([3.0, 7.0])})


@tvm.testing.parametrize_targets("llvm", "cuda")
@tvm.testing.exclude_targets("cuda")
def test_excluded_targets_are_skipped(target, dev):
    assert target == "llvm" and dev == tvm.cpu()
