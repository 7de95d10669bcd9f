"""Reductions over no axis: a list of axes that is given and empty."""
import pickle

import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir, topi
from tvm.script import tir as T


def computed(inputs, results, *arrays):
    run = tvm.build(te.create_prim_func([*inputs, *results]), target="llvm")
    outs = [tvm.nd.empty([int(extent) for extent in result.shape], result.dtype) for result in results]
    run(*[tvm.nd.array(array) for array in arrays], *outs)
    return [out.numpy() for out in outs]


@pytest.mark.parametrize("axis", [[], ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_operators_keep_shape_and_values(axis, keepdims):
    x = np.random.default_rng(0).random((4, 8), "float32")
    X = te.placeholder(x.shape, name="X")
    for reduce in (topi.sum, topi.prod, topi.max, topi.min):
        np.testing.assert_array_equal(computed([X], [reduce(X, axis, keepdims)], x)[0], x)
    for place in (topi.argmax, topi.argmin):
        np.testing.assert_array_equal(computed([X], [place(X, axis, keepdims)], x)[0], np.zeros((4, 8), "int32"))
    assert topi.sum(X).ndim == 0 and list(topi.all(te.placeholder((3,), "bool"), axis).shape) == [3]


def test_an_operator_is_built_as_in_tvm_0_27():
    A = te.placeholder((4, 8), name="A")

    @T.prim_func
    def expected(A: T.Buffer((4, 8), "float32"), A_red: T.Buffer((4, 8), "float32")):
        T.func_attr({"tir.noalias": True, "global_symbol": "main"})
        for i, j in T.grid(4, 8):
            with T.block("A_red"):
                vi, vj = T.axis.remap("SS", [i, j])
                with T.init():
                    A_red[vi, vj] = T.float32(0)
                A_red[vi, vj] = A_red[vi, vj] + A[vi, vj]

    tvm.ir.assert_structural_equal(te.create_prim_func([A, topi.sum(A, axis=[])]), expected)


def test_expressions_are_reductions_that_canonical_simplify_takes_the_source_of():
    A, i = te.placeholder((4,), name="A"), te.var("i")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda t, u: (tir.const(0, t), tir.const(1, u)))
    analyzer = tvm.arith.Analyzer()
    for reduction, source in [(te.sum(A[3], []), A[3]), (te.max(A[i], ()), A[i]), (te.min(A[i], axis=[]), A[i]),
                              (both((A[0], A[i]), [])[1], A[i])]:
        assert isinstance(reduction, tir.Reduce) and list(reduction.axis) == []
        tvm.ir.assert_structural_equal(analyzer.canonical_simplify(reduction), source)
        tvm.ir.assert_structural_equal(analyzer.simplify(reduction), source)
        tvm.ir.assert_structural_equal(analyzer.rewrite_simplify(reduction), reduction)
    for more in (te.sum(A[i], [], where=i < 3), te.sum(A[i], [], init=A[0])):
        assert isinstance(analyzer.simplify(more), tir.Reduce)


def test_computes_run():
    a = np.arange(1, 5, dtype="float32")
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: te.sum(A[i], [], where=i < 2), name="B")
    C = te.compute((), lambda: te.max(A[3], []), name="C")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda t, u: (tir.const(0, t), tir.const(1, u)))
    D, E = te.compute((4,), lambda i: both((A[i], A[3 - i]), []), name="D")
    for result, expected in zip(computed([A], [B, C, D, E], a), ([1, 2, 0, 0], 4, a, a[::-1])):
        np.testing.assert_array_equal(result, expected)
    started = te.compute((4,), lambda i: te.sum(A[i], [], init=A[0] * 2.0), name="F")
    np.testing.assert_array_equal(computed([A], [started], a)[0], a + 2)


def test_stages_run_and_are_saved():
    a = np.arange(1, 9, dtype="float32")
    A = te.placeholder((8,), name="A")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda t, u: (tir.const(0, t), tir.const(1, u)))
    B, C = te.compute((8,), lambda i: both((A[i], A[7 - i]), []), name="BC")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].split(s[B].op.axis[0], factor=4)
    with pytest.raises(tvm.TVMError, match="without a reduction"):
        s[B].compute_inline()
    te.schedule.AutoInlineInjective(s)
    assert s[B].attach_type == 1
    for schedule, tensors in ((s, [A, D]), (pickle.loads(pickle.dumps(s)), None)):
        tensors = tensors or [schedule.stages[0].op.output(0), schedule.outputs[0].output(0)]
        out = tvm.nd.empty((8,))
        tvm.build(schedule, tensors, "llvm")(tvm.nd.array(a), out)
        np.testing.assert_array_equal(out.numpy(), a + a[::-1])


if __name__ == "__main__":
    tvm.testing.main()
