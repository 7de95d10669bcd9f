"""Sums whose loops are fused or split when they are decomposed and padded: accepted where TVM's result is right."""
import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def product(A: T.Buffer((24, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((24, 10), "float32")):
    for i, j, k in T.grid(24, 10, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def check(sch):
    a, b = (np.random.RandomState(seed).rand(*shape).astype("float32") for seed, shape in ((0, (24, 12)), (1, (12, 10))))
    c = tvm.nd.array(np.full((24, 10), 7, "float32"))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), c)
    tvm.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)


def all_fused(sch, i, j, k):
    return sch.fuse(i, j, k)


def with_outer_steps(sch, i, j, k):
    sch.fuse(j, sch.split(k, [3, 4])[0])
    return i


def below_steps(sch, i, j, k):
    outer, inner = sch.split(k, [3, 4])
    sch.reorder(outer, i, j, inner)
    sch.fuse(j, inner)
    return outer


def part_of_a_tile(sch, i, j, k):
    return sch.fuse(sch.split(j, [None, 4])[1], k)


def split_again(sch, i, j, k):
    sch.split(sch.fuse(j, k), [None, 24])
    return i


def interleaved(sch, i, j, k):
    sch.reorder(k, j)
    return sch.fuse(k, j)


ACTS = [all_fused, with_outer_steps, below_steps, part_of_a_tile, split_again, interleaved]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_the_init_is_decomposed_from_fused_steps(act):
    sch = tir.Schedule(product)
    init = sch.decompose_reduction("C", act(sch, *sch.get_loops("C")))
    assert any("fused" in sch.get(loop).loop_var.name for loop in sch.get_loops(init))
    check(sch)


def test_conditions_on_steps_are_no_start_of_an_element():
    @T.prim_func
    def some(A: T.Buffer((24, 12), "float32"), C: T.Buffer((24,), "float32")):
        for i, k in T.grid(24, 12):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.where(5 <= k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vk]

    sch = tir.Schedule(some)
    with pytest.raises(tir.ScheduleError):
        sch.decompose_reduction("C", sch.fuse(*sch.get_loops("C")))


@pytest.mark.parametrize("is_in_order", [False, True])
def test_loops_that_count_elements_together_are_in_their_order(is_in_order):
    @T.prim_func
    def sums(A: T.Buffer((10, 12), "float32"), C: T.Buffer((10,), "float32")):
        for a, b in T.grid(15, 8):
            with T.block("C"):
                vj = T.axis.spatial(10, (a * 8 + b) // 12)
                vk = T.axis.reduce(12, (a * 8 + b) % 12)
                with T.init():
                    C[vj] = T.float32(0)
                C[vj] = C[vj] + A[vj, vk]

    text = sums.script()
    other = tvm.script.from_source(text.replace("for a, b in T.grid(15, 8)", "for b, a in T.grid(8, 15)"))
    sch = tir.Schedule(sums if is_in_order else other)
    if is_in_order:
        sch.decompose_reduction("C", sch.get_loops("C")[0])
        return
    with pytest.raises(tir.ScheduleError, match="in another order"):
        sch.decompose_reduction("C", sch.get_loops("C")[0])


def rows_fused(sch, i, j, k):
    sch.fuse(i, j)
    return [1, 1, 5]


def steps_split(sch, i, j, k):
    sch.split(k, [None, 4])
    return [7, 4, 4]


def below_a_unit_loop(sch, i, j, k):
    sch.add_unit_loop(j)
    sch.reorder(k, i)
    return [7, 4, 5]


@pytest.mark.parametrize("act", [rows_fused, steps_split, below_a_unit_loop], ids=lambda act: act.__name__)
def test_loops_that_are_not_padded_may_be_split(act):
    sch = tir.Schedule(product)
    sch.pad_einsum("C", act(sch, *sch.get_loops("C")))
    check(sch)


def test_an_iter_var_whose_loop_is_split_is_not_padded():
    sch = tir.Schedule(product)
    sch.split(sch.get_loops("C")[0], [None, 4])
    with pytest.raises(tir.ScheduleError, match='iter var "vi" is not bound to a loop over its domain'):
        sch.pad_einsum("C", [7, 1, 1])


@T.prim_func
def rows(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 12), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for i, k in T.grid(n, 12):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


def test_padding_of_a_length_is_decomposed():
    sch = tir.Schedule(rows)
    sch.pad_einsum("C", [16, 1])
    copy, = sch.get_producers("C")
    sch.decompose_padding(copy, sch.get_loops(copy)[0])
    a, c = np.random.RandomState(0).rand(21, 12).astype("float32"), tvm.nd.empty((21,))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), c)
    tvm.testing.assert_allclose(c.numpy(), a.sum(1), rtol=1e-5)
