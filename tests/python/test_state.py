"""tir.ScheduleState: places, cached flags, scopes and dependences, replacing statements."""
import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule import DepKind, StmtSRef
from tvm.tir.schedule.state import CachedFlags


@T.prim_func
def read_before_write(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")) -> None:
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]


@T.prim_func
def summed(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")) -> None:
    B = T.alloc_buffer((16,))
    for i, k in T.grid(16, 16):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi]


def block_of(state, name):
    found = []

    def visit(node):
        if isinstance(node, tir.Block) and node.name_hint == name:
            found.append(node)

    tir.stmt_functor.post_order_visit(state.mod["main"].body, visit)
    return state.get_sref(found[0])


def test_flags_of_a_pipeline_hold():
    state = tir.ScheduleState(elementwise)
    for name in ("B", "C", "root"):
        assert state._get_cached_flags(block_of(state, name)) == CachedFlags(True, True, True)


def test_a_reduction_without_blocks_in_it_is_a_pipeline():
    state = tir.ScheduleState(summed)
    assert state._get_cached_flags(block_of(state, "B")) == CachedFlags(True, True, True)


def test_what_is_read_before_it_is_written_makes_no_pipeline():
    state = tir.ScheduleState(read_before_write)
    assert state._get_cached_flags(block_of(state, "C")).region_cover  # Only what was written before must cover.
    assert not state._get_cached_flags(block_of(state, "root")).stage_pipeline


def test_scopes_tell_who_depends_on_whom():
    state = tir.ScheduleState(elementwise)
    root, first, second = (block_of(state, name) for name in ("root", "B", "C"))
    (dependency,) = state.get_block_scope(root).get_deps_by_dst(second)
    assert dependency.src == first and dependency.dst == second and dependency.kind == DepKind.RAW
    (same,) = state.get_block_scope(root).get_deps_by_src(first)
    assert same == dependency and len(state.get_block_scope(root).get_deps_by_src(second)) == 0


def test_a_loop_has_no_flags():
    state = tir.Schedule(matmul).state
    loop = block_of(state, "update").parent
    with pytest.raises(ValueError, match="expected a block"):
        state._get_cached_flags(loop)


def test_replace_puts_another_loop_in_its_place():
    sch = tir.Schedule(elementwise)
    place = sch.get_sref(sch.get_loops("B")[0])
    loop = place.stmt
    sch.state.replace(place, tir.For(loop.loop_var, loop.min, loop.extent, tir.ForKind.PARALLEL, loop.body))
    assert sch.get(sch.get_loops("B")[0]).kind == tir.ForKind.PARALLEL


def test_a_place_knows_where_it_stands_in_a_sequence():
    sch = tir.Schedule(read_before_write)
    first, second = (sch.get_sref(sch.get_loops(name)[0]) for name in ("C", "B"))
    assert (first.seq_index, second.seq_index) == (0, 1)
    assert sch.get_sref(sch.get_block("C")).seq_index == -1 and sch.get_sref(sch.get_block("root")).seq_index == -1


def test_marks_are_places_without_a_statement():
    inline, root = StmtSRef.inline_mark(), StmtSRef.root_mark()
    assert inline == StmtSRef.inline_mark() and inline != root
    assert inline.stmt is None and root.parent is None and root.seq_index == -1


if __name__ == "__main__":
    tvm.testing.main()
