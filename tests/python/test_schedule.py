"""tir.Schedule: handles, primitives with TVM's defaults, refusals that change nothing, traces."""
import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol, verify_trace_roundtrip


@T.prim_func
def elementwise_inlined(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")) -> None:
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0 + 1.0


@T.prim_func
def elementwise_split(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")) -> None:
    B = T.alloc_buffer((128, 128))
    for i_0, i_1, j in T.grid(8, 16, 128):
        with T.block("B"):
            vi = T.axis.spatial(128, i_0 * 16 + i_1)
            vj = T.axis.spatial(128, j)
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@pytest.mark.parametrize("by_name", [False, True])
def test_compute_inline_takes_a_block_or_its_name(by_name):
    sch = tir.Schedule(elementwise, debug_mask="all")
    sch.compute_inline("B" if by_name else sch.get_block("B"))
    assert_structural_equal_ignore_global_symbol(elementwise_inlined, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=elementwise)


def test_split_returns_loops_outermost_first():
    sch = tir.Schedule(elementwise, debug_mask="all")
    i, _ = sch.get_loops(sch.get_block("B"))
    outer, inner = sch.split(i, factors=[None, 16])
    assert sch.get(outer).extent == 8 and sch.get(inner).extent == 16
    assert_structural_equal_ignore_global_symbol(elementwise_split, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=elementwise)


def test_a_refused_primitive_is_a_schedule_error_and_changes_nothing():
    sch = tir.Schedule(elementwise)
    block = sch.get_block("C")
    before, trace = sch.mod, str(sch.trace)
    with pytest.raises(tir.ScheduleError, match="compute_inline"):
        sch.compute_inline(block)
    tvm.ir.assert_structural_equal(sch.mod, before)
    assert str(sch.trace) == trace
    with pytest.raises(tvm.TVMError):
        sch.get_block("no such block")


@pytest.mark.parametrize("call, text", [
    (lambda sch, loop: sch.split(loop), '"factors" is missing'),
    (lambda sch, loop: sch.split(loop, [None, 4], factor=3), 'no argument is named "factor"'),
    (lambda sch, loop: sch.parallel(7), "a loop of this schedule"),
    (lambda sch, loop: sch.parallel(loop, loop), "takes 1 arguments, 2 are given"),
])
def test_wrong_arguments_are_type_errors_that_say_which(call, text):
    sch = tir.Schedule(elementwise)
    loop = sch.get_loops("B")[0]
    with pytest.raises(TypeError, match=text):
        call(sch, loop)


def test_get_gives_the_node_of_a_handle():
    sch = tir.Schedule(matmul)
    block = sch.get_block("update")
    i, j, k = sch.get_loops(block)
    assert isinstance(sch.get(block), tir.Block) and sch.get(block).name_hint == "update"
    assert isinstance(sch.get(i), tir.For) and sch.get(i).loop_var.name == "i"
    assert [iter_var.iter_type for iter_var in sch.get(block).iter_vars] == [0, 0, 2]
    sch.parallel(i)
    assert sch.get(i).kind == tir.ForKind.PARALLEL
    sch.annotate(j, "note", 3)
    assert sch.get(j).annotations["note"] == 3
    sch.unannotate(j, "note")
    assert "note" not in sch.get(j).annotations


def test_a_copy_is_independent_and_knows_the_handles():
    sch = tir.Schedule(matmul)
    loops = sch.get_loops(sch.get_block("update"))
    other = sch.copy()
    fused = other.fuse(*loops[:2])
    assert other.get(fused).extent == 128 * 128
    assert len(sch.get_loops("update")) == 3 and len(other.get_loops("update")) == 2


def test_sampling_follows_seed_and_decision():
    def tiles(seed, decision=None):
        sch = tir.Schedule(matmul, seed=seed)
        factors = sch.sample_perfect_tile(sch.get_loops("update")[0], n=4, decision=decision)
        return [int(sch.get(factor)) for factor in factors]

    assert tiles(3) == tiles(3)
    assert tiles(3, [8, 4, 2, 2]) == [8, 4, 2, 2]
    product = 1
    for factor in tiles(5):
        product *= factor
    assert product == 128


def test_sampled_factors_split_loops():
    sch = tir.Schedule(matmul, seed=1)
    i, j, k = sch.get_loops("update")
    sch.split(k, factors=sch.sample_perfect_tile(k, n=2, max_innermost_factor=64, decision=[4, 32]))
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("update")] == [128, 128, 4, 32]


def test_cache_read_takes_a_buffer_by_index_name_or_object():
    for buffer in (0, "A", None):
        sch = tir.Schedule(matmul)
        block = sch.get_block("update")
        if buffer is None:
            buffer = sch.get(block).reads[0].buffer
        cached = sch.cache_read(block, buffer, "global")
        assert sch.get(cached).writes[0].buffer.name == "A_global"


def test_the_trace_lists_instructions_with_their_inputs_and_outputs():
    sch = tir.Schedule(matmul)
    block = sch.get_block("update")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i)
    names = [inst.kind.name for inst in sch.trace.insts]
    assert names == ["GetBlock", "GetLoops", "Reorder"]
    assert sch.trace.insts[1].inputs[0] == block and sch.trace.insts[1].outputs == (i, j, k)
    assert list(sch.trace.insts[2].inputs) == [k, i]
    assert sch.trace.as_python()[0] == 'b0 = sch.get_block(name="update", func_name="main")'
    assert "  sch.reorder(l3, l1)" in str(sch.trace)


def test_a_schedule_is_over_a_module():
    mod = tvm.IRModule({"first": elementwise, "second": matmul})
    sch = tir.Schedule(mod)
    with pytest.raises(tir.ScheduleError):
        sch.get_block("update")
    assert sch.get(sch.get_block("update", func_name="second")).name_hint == "update"
    sch.work_on("first")
    sch.compute_inline("B")
    assert_structural_equal_ignore_global_symbol(sch.mod["first"], elementwise_inlined)
    tvm.ir.assert_structural_equal(sch.mod["second"], mod["second"])
    assert {var.name_hint for var in mod.get_global_vars()} == {"first", "second"}


def test_a_statement_reference_follows_its_block():
    sch = tir.Schedule(matmul)
    block = sch.get_block("update")
    ref = sch.get_sref(block)
    assert ref.stmt.same_as(sch.get(block)) and sch.get(ref).same_as(sch.get(block))
    assert sch.state.get_sref(sch.get(block)).same_as(ref)
    i, j, k = sch.get_loops(block)
    assert ref.parent == sch.get_sref(k) and sch.get_sref(k).parent.parent.stmt.loop_var.name == "i"
    assert sch.get_sref(i).parent.stmt.name_hint == "root" and sch.get_sref(i).parent.parent is None
    sch.vectorize(j)
    assert ref.stmt.same_as(sch.get(block))
    state = tir.ScheduleState(matmul, debug_mask="all")
    tvm.ir.assert_structural_equal(state.mod["main"], matmul)
    with pytest.raises(ValueError, match="get_sref"):
        state.get_sref(elementwise.body.block)


def test_decisions_belong_to_instructions():
    sch = tir.Schedule(matmul, seed=2)
    sch.sample_perfect_tile(sch.get_loops("update")[0], n=2, decision=[16, 8])
    trace = sch.trace
    (inst, decision), = trace.decisions.items()
    assert inst.kind.name == "SamplePerfectTile" and list(decision) == [16, 8]
    assert list(trace.get_decision(inst)) == [16, 8]
    assert len(trace.simplified(remove_postproc=True).insts) == 0
    replayed = tir.Schedule(matmul)
    trace.apply_to_schedule(replayed, remove_postproc=False)
    assert replayed.trace.as_json() == trace.as_json()


if __name__ == "__main__":
    tvm.testing.main()
