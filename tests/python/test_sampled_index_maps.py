"""Index maps that hold drawn numbers: what they do to a buffer, and how traces keep them."""
import pytest
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule import Trace


@T.prim_func
def plus_one(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(32, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)


def tiled():
    sch = tir.Schedule(plus_one)
    block = sch.get_block("C")
    _, tile = sch.sample_perfect_tile(sch.get_loops(block)[1], 2, 16, decision=[4, 8])
    return sch, block, tile


def shape_of_c(sch):
    func = sch.mod["main"]
    return [int(extent) for extent in func.buffer_map[func.params[1]].shape]


def test_a_layout_follows_the_number_that_was_drawn():
    sch, block, tile = tiled()
    sch.transform_layout(block, ("write", 0), lambda i, j: (j // (tile * 2), i, j % (tile * 2)))
    assert shape_of_c(sch) == [2, 32, 16]
    assert "index_map=lambda i, j: (j // (v4 * 2), i, j % (v4 * 2),)" in str(sch.trace)


def test_another_decision_gives_another_layout():
    sch, block, tile = tiled()
    sch.transform_layout(block, ("write", 0), lambda i, j: (j // tile, i, j % tile))
    sample = sch.trace.insts[2]
    other = tir.Schedule(plus_one)
    sch.trace.with_decision(sample, [8, 4], remove_postproc=False).apply_to_schedule(other)
    assert shape_of_c(sch) == [4, 32, 8] and shape_of_c(other) == [8, 32, 4]


def test_json_names_the_drawn_number():
    sch, block, tile = tiled()
    sch.transform_layout(block, ("write", 0), lambda i, j: (j // tile, i, j % tile))
    json = sch.trace.as_json()
    graph = json[0][3][1][1]
    assert '"type_key": "tir.IndexMap"' in graph and '"repr_str": "v4"' in graph
    again = tir.Schedule(plus_one)
    Trace.apply_json_to_schedule(json, again)
    assert again.trace.as_json() == json and shape_of_c(again) == [4, 32, 8]


def test_a_block_layout_takes_none():
    sch, block, tile = tiled()
    with pytest.raises(tir.ScheduleError, match="not bijective affine"):
        sch.transform_block_layout(block, lambda i, j: (j // tile, i, j % tile))


def test_instructions_hold_maps():
    sch, block, _ = tiled()
    sch.transform_block_layout(block, lambda i, j: (j, i))
    assert isinstance(sch.trace.insts[-1].attrs[0], tir.IndexMap)


def test_json_holds_text_that_is_not_ascii():
    sch, block, _ = tiled()
    sch.annotate(block, "k", "\u00e9\x01")
    assert sch.trace.as_json()[0][-1][1][1] == '"\u00e9\x01"'
