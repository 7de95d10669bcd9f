"""Reductions whose extents depend on an axis: functions and schedules of stages, against numpy."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir, topi


def run(func, args, inputs, shape):
    built, result = tvm.build(func, *args, target="llvm"), tvm.nd.array(np.full(shape, 7, "float32"))
    built(*[tvm.nd.array(each) for each in inputs], result)
    return result.numpy()


def triangle(depth):
    """Sums over r0 < i + 2 and, where asked, over further axes that depend on less or on more."""
    A = te.placeholder((5, 8, 9), name="A")
    x = np.random.RandomState(0).rand(5, 8, 9).astype("float32")

    def reduced(i):
        r0 = te.reduce_axis((0, i + 2), "r0")
        if depth == 1:
            return te.sum(A[i, r0, 0], axis=r0)
        r1 = te.reduce_axis((0, 3) if depth == 2 else (r0, r0 + 2), "r1")
        return te.sum(A[i, r0, r1], axis=[r0, r1])

    columns = {1: lambda r0: [0], 2: lambda r0: range(3), 3: lambda r0: range(r0, r0 + 2)}[depth]
    expected = [sum(x[i, r0, r1] for r0 in range(i + 2) for r1 in columns(r0)) for i in range(5)]
    return A, te.compute((5,), reduced, name="B"), x, expected


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_function_begins_each_sum_once(depth):
    A, B, x, expected = triangle(depth)
    tvm.testing.assert_allclose(run(te.create_prim_func([A, B]), [], [x], (5,)), expected, rtol=1e-5)


def test_the_init_stands_in_the_outermost_block_that_reduces():
    A, B, _, _ = triangle(2)
    sch = tir.Schedule(te.create_prim_func([A, B]))
    assert sch.get(sch.get_block("B_l1")).init is not None and sch.get(sch.get_block("B")).init is None
    assert [iter_var.var.name for iter_var in sch.get(sch.get_block("B")).iter_vars] == ["v_i", "v_r0", "v_r1"]
    A, B, _, _ = triangle(1)
    sch = tir.Schedule(te.create_prim_func([A, B]))
    assert sch.get(sch.get_block("B_l1")).init is None and sch.get(sch.get_block("B")).init is not None


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_pools_take_sizes_of_which_one_divides(kind):
    A = te.placeholder((1, 1, 7, 9), name="A")
    x = np.random.RandomState(0).randn(1, 1, 7, 9).astype("float32")
    reduce = {"max": np.max, "avg": np.mean}[kind]
    expected = [[[[reduce(x[0, 0, i * 7 // 3:-(-(i + 1) * 7 // 3), j * 3:j * 3 + 3]) for j in range(3)] for i in range(3)]]]
    pool = topi.nn.adaptive_pool(A, (3, 3), kind)
    tvm.testing.assert_allclose(run(te.create_prim_func([A, pool]), [], [x], (1, 1, 3, 3)), expected, rtol=1e-5)
    by_stages = run(topi.x86.schedule_adaptive_pool([pool]), [[A, pool]], [x], (1, 1, 3, 3))
    tvm.testing.assert_allclose(by_stages, expected, rtol=1e-5)


def split_outer(s, B):
    outer, inner = s[B].split(B.op.axis[0], 2)
    s[B].parallel(outer)


def split_inner(s, B):
    s[B].split(B.op.reduce_axis[0], 2)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("steps", [lambda s, B: None, split_outer, split_inner], ids=["plain", "outer", "inner"])
def test_stages_of_ragged_sums_are_lowered_and_run(depth, steps):
    A, B, x, expected = triangle(depth)
    s = te.create_schedule(B.op)
    steps(s, B)
    tvm.testing.assert_allclose(run(s, [[A, B]], [x], (5,)), expected, rtol=1e-5)
    assert "for" in str(tvm.lower(s, [A, B]))


def test_rows_of_a_sparse_matrix_may_be_empty():
    starts, columns = np.array([0, 2, 2, 5], "int32"), np.array([0, 2, 1, 2, 3], "int32")
    values, x = np.random.RandomState(0).rand(5).astype("float32"), np.random.RandomState(1).rand(4).astype("float32")
    P, I = te.placeholder((4,), "int32", "P"), te.placeholder((5,), "int32", "I")
    V, X = te.placeholder((5,), name="V"), te.placeholder((4,), name="X")

    def row(i):
        k = te.reduce_axis((0, P[i + 1] - P[i]), "k")
        return te.sum(V[P[i] + k] * X[I[P[i] + k]], axis=k)

    Y = te.compute((3,), row, name="Y")
    s = te.create_schedule(Y.op)
    dense = [sum(values[k] * x[columns[k]] for k in range(starts[i], starts[i + 1])) for i in range(3)]
    tvm.testing.assert_allclose(run(s, [[P, I, V, X, Y]], [starts, columns, values, x], (3,)), dense, rtol=1e-5)


def test_a_ragged_stage_moves_to_its_reader_with_what_it_reads():
    A, B, x, expected = triangle(2)
    C = te.compute((5,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    tvm.testing.assert_allclose(run(s, [[A, C]], [x], (5,)), np.array(expected) * 2, rtol=1e-5)


def test_a_ragged_result_is_laid_out_otherwise():
    A, B, x, expected = triangle(2)
    s = te.create_schedule(B.op)
    s[B].transform_layout(lambda i: [4 - i])
    tvm.testing.assert_allclose(run(s, [[A, B]], [x], (5,)), expected[::-1], rtol=1e-5)
