"""Blocks below fused loops whose split leaves a rest: predicates and loops are TVM 0.27's."""
import pytest
from lathe import tir
from lathe.script import tir as T


def two_stages(rows, columns):
    @T.prim_func
    def func(A: T.Buffer((rows, columns), "float32"), C: T.Buffer((rows, columns), "float32")):
        B = T.alloc_buffer((rows, columns))
        for i, j in T.grid(rows, columns):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(rows, columns):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0

    return func


@T.prim_func
def symbolic(a: T.handle, c: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m))
    C = T.match_buffer(c, (n, m))
    B = T.alloc_buffer((n, m))
    for i, j in T.grid(n, m):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


def fused(func, block, factors):
    sch = tir.Schedule(func)
    return (sch, *sch.split(sch.fuse(*sch.get_loops(block)), factors))


def lines(sch, *words):
    return [line.strip() for line in sch.mod["main"].script().splitlines() if any(word in line for word in words)]


# Shape, factor, and what TVM leaves as the consumer's predicate.
@pytest.mark.parametrize("rows, columns, factor, where",
                         [(56, 56, 1024, "i_j_fused_0 * 1024 + i_j_fused_1 < 3136"),
                          (7, 7, 32, "i_j_fused_0 * 32 + i_j_fused_1 < 49"),
                          (8, 1000, 256, "i_j_fused_0 * 256 + i_j_fused_1 < 8000")])
def test_a_cache_is_written_back_in_its_thread(rows, columns, factor, where):
    sch, blocks, threads = fused(two_stages(rows, columns), "C", [None, factor])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    copy = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(copy, threads)
    assert lines(sch, "T.where") == [f"T.where({where})"] * 2


def test_a_consumer_follows_its_producer_into_threads():
    sch, blocks, threads = fused(two_stages(3, 5), "B", [None, 4])
    sch.parallel(blocks)
    sch.reverse_compute_at("C", threads)
    assert lines(sch, "T.where") == ["T.where(i_j_fused_0 * 4 + i_j_fused_1 < 15)"] * 2


def test_a_producer_goes_into_threads_of_three_loops():
    sch, blocks, _, threads = fused(two_stages(30, 40), "C", [None, 256, 4])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    sch.compute_at("B", threads)
    assert lines(sch, "T.where") == [
        "T.where(i_j_fused_0 * 256 + i_j_fused_1 < 300)",
        "T.where((i_j_fused_0 * 256 + i_j_fused_1) * 4 + i_j_fused_2 < 1200)",
    ]


def test_rows_of_a_tile_that_begins_inside_a_row():
    sch, blocks, threads = fused(two_stages(33, 17), "C", [None, 10])
    sch.parallel(blocks)
    sch.compute_at("B", blocks)
    assert lines(sch, "ax0, ax1 in") == ["for ax0, ax1 in T.grid((i_j_fused_0 * 10 % 17 + 9) // 17 + 1, 17):"]


@pytest.mark.parametrize("mark", ["parallel", "blockIdx.x"])
def test_both_extents_are_symbolic(mark):
    sch = tir.Schedule(symbolic)
    loop = sch.fuse(*sch.get_loops("C"))
    sch.compute_at("B", loop)
    sch.parallel(loop) if mark == "parallel" else sch.bind(loop, mark)
    assert lines(sch, "T.where") == []


def test_a_consumer_of_symbolic_rows():
    sch = tir.Schedule(symbolic)
    loop = sch.fuse(*sch.get_loops("B"))
    sch.reverse_compute_at("C", loop)
    assert lines(sch, "T.where") == []
    assert len(sch.get_loops("C")) == 1


# What lies in one row is made by several iterations: TVM 0.27 lets each read what others may not have made.
def test_a_consumer_of_whole_rows_is_refused():
    sch, blocks, _ = fused(two_stages(33, 17), "B", [None, 10])
    sch.parallel(blocks)
    with pytest.raises(tir.ScheduleError, match="it may read more of \"B\" than one iteration"):
        sch.reverse_compute_at("C", blocks)
