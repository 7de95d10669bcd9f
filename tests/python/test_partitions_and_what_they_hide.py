"""Blocks that declare nothing, as loop_partition leaves them around its parts, still count with what is in them."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def sum_from_bias(A: T.Buffer((8, 4), "float32"), bias: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    D = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("D"):
            v = T.axis.spatial(8, i)
            D[v] = bias[v] * 2.0
    for i, k in T.grid(8, 4):
        with T.block("C"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                C[v] = D[v]
            C[v] = C[v] + A[v, r]


def test_an_init_does_not_go_ahead_of_the_parts_that_make_what_it_reads():
    sch = tir.Schedule(sum_from_bias)
    outer, inner = sch.split(sch.get_loops("C")[0], [2, 4])
    sch.compute_at("D", outer)
    sch.loop_partition(sch.get_loops("D")[-1], [2], preserve_unit_iters=True)
    with pytest.raises(tir.ScheduleError, match='below the loop writes "D", which the init reads'):
        sch.decompose_reduction("C", sch.get_loops("C")[0])
    sch.decompose_reduction("C", sch.get_loops("C")[1])


@T.prim_func
def scaled(B: T.Buffer((4,), "float32"), C: T.Buffer((12, 4), "float32"), A: T.Buffer((12, 4), "float32")):
    D = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("D"):
            v = T.axis.spatial(4, i)
            D[v] = B[v] * 2.0
    for i, j in T.grid(12, 4):
        with T.block("init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = D[T.min(vi, 3)]
    for i, j in T.grid(12, 4):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj], A[vi, vj], D[T.min(vi, 3)])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vj]


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_what_a_block_declares_that_it_reads_is_not_made_below_another_ones_loop(is_partitioned):
    sch = tir.Schedule(scaled)
    if is_partitioned:
        sch.loop_partition(sch.get_loops("update")[0], [1], preserve_unit_iters=True)
    with pytest.raises(tir.ScheduleError, match='consumer "update.*" is not below loop "j"'):
        sch.compute_at("D", sch.get_loops("init")[1])


@T.prim_func
def reads_outside(B: T.Buffer((1,), "float32"), C: T.Buffer((5,), "float32")):
    D = T.alloc_buffer((1,))
    for i in range(1):
        with T.block("D"):
            v = T.axis.spatial(1, i)
            D[v] = B[v] * 2.0
    for i, j in T.grid(1, 5):
        with T.block("C"):
            v = T.axis.opaque(1, i)
            w = T.axis.spatial(5, j)
            T.reads(D[v + 2])
            T.writes(C[w])
            C[w] = T.if_then_else(1 <= v + 3 and v + 3 <= 1, D[v + 2], T.float32(3))


def test_a_copy_of_what_lies_outside_has_no_negative_extent():
    import numpy as np

    sch = tir.Schedule(reads_outside)
    sch.cache_read("C", 0, "local")
    assert "D_local = T.alloc_buffer((1,), scope=\"local\")" in sch.mod.script()
    out = tvm.nd.empty((5,))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(np.ones(1, "float32")), out)
    assert out.numpy().tolist() == [3] * 5


if __name__ == "__main__":
    tvm.testing.main()
