"""Where cache_read and cache_write put copies, and of what: facts that TVM confirmed."""
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def part(A: T.Buffer((64,), "float32"), C: T.Buffer((70,), "float32")):
    B = T.alloc_buffer((70,))
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi + 3] = A[vi + 8]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi + 5] = B[vi + 4]


@T.prim_func
def in_one_loop(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    B = T.alloc_buffer((64, 64))
    for i in range(64):
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for j in range(64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]


@T.prim_func
def in_a_block(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            for x in range(16):
                with T.block("B"):
                    vx = T.axis.spatial(16, x)
                    C[vi * 16 + vx] = A[vi * 16 + vx] * T.float32(2)


def copy_of(func, block, primitive):
    sch = tir.Schedule(func)
    made = getattr(sch, primitive)(block, 0, "local")
    node = sch.get(made)
    cache = node.writes[0] if primitive == "cache_read" else node.reads[0]
    loops = [int(sch.get(loop).extent) for loop in sch.get_loops(made)]
    return sch, [int(extent) for extent in cache.buffer.shape], loops


FACTS = [
    ("a_parameter_is_copied_whole", part, "B", "cache_read", [64], [64], None),
    ("what_is_made_is_copied_and_no_more", part, "C", "cache_read", [32], [32], "B_local[vi + 1]"),
    ("what_is_written_is_copied_back_and_no_more", part, "C", "cache_write", [16], [16], "C[5 + v0] = C_local[v0]"),
    ("a_copy_back_has_the_size_of_its_part", part, "B", "cache_write", [32], [32], "B_local[vi] = A[vi + 8]"),
    ("a_copy_comes_in_the_loop_around_both", in_one_loop, "C", "cache_read", [64, 64], [64, 1, 64], None),
    ("a_copy_back_comes_in_the_loop_around_both", in_one_loop, "B", "cache_write", [64, 64], [64, 1, 64], "C[vi, vj] = B[vi, vj]"),
    ("a_block_caches_what_it_declares", in_a_block, "B", "cache_read", [16], [8, 16], "A_local[v0] = A[vi * 16 + v0]"),
    ("a_block_copies_back_what_it_writes", in_a_block, "B", "cache_write", [16], [8, 16], "C[vi * 16 + v0] = C_local[v0]"),
]


@pytest.mark.parametrize("func,block,primitive,shape,loops,text", [fact[1:] for fact in FACTS], ids=[fact[0] for fact in FACTS])
def test_copies(func, block, primitive, shape, loops, text):
    sch, cache_shape, cache_loops = copy_of(func, block, primitive)
    assert cache_shape == shape
    assert cache_loops == loops[-len(cache_loops):]
    assert text is None or text in sch.mod.script()


def test_maps_from_functions_take_names_behind_a_star():
    index_map = tir.IndexMap.from_func(lambda n, *hw, c: [n, c, *hw], ndim=4)
    assert [var.name for var in index_map.initial_indices] == ["n", "hw_0", "hw_1", "c"]
    assert [var.name for var in index_map.final_indices] == ["n", "c", "hw_0", "hw_1"]


def test_transform_layout_leaves_indices_of_one_value_alone():
    @T.prim_func
    def func(A: T.Buffer((1, 64), "float32"), B: T.Buffer((1, 64), "float32")):
        for n, i in T.grid(1, 64):
            with T.block("B"):
                vn, vi = T.axis.remap("SS", [n, i])
                B[vn, vi] = A[vn, vi]

    sch = tir.Schedule(func)
    sch.transform_layout("B", ("write", 0), lambda n, i: (i // 16, n, i % 16))
    assert "B[vi // 16, vn, vi % 16]" in sch.mod.script()


def test_pad_values_are_functions_of_indices_and_undef_takes_a_type():
    for given, text in ((0, "pad_value=lambda indices_0, indices_1: (0,)"), (lambda i, j: T.undef(dtype="int32"), "T.undef(")):
        sch = tir.Schedule(padded)
        sch.transform_layout("B", ("write", 0), lambda i: (i // 4, i % 4), pad_value=given)
        assert text in str(sch.trace)


@T.prim_func
def padded(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    for i in range(14):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            B[vi] = A[vi]
