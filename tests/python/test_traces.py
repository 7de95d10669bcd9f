"""Traces as TVM's: built call by call, in JSON as v0.18 writes it, with handles counted from 0; facts that TVM confirmed."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule import BlockRV, Instruction, InstructionKind, Trace


@T.prim_func
def gemm(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    for i, j, k in T.grid(64, 64, 64):
        with T.block("gemm"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def sampled():
    sch = tir.Schedule(gemm)
    i, j, _ = sch.get_loops("gemm")
    tile = sch.sample_perfect_tile(i, n=2, decision=[16, 4])
    sch.split(i, factors=tile)
    sch.split(j, factors=[None, 8])
    return sch


def test_factors_to_infer_are_the_text_none():
    split = sampled().trace.as_json()[0][-1]
    assert split == ["Split", [split[1][0], "None", 8], [1, 0], split[3]]


def test_consumers_are_a_list_of_their_own():
    sch = tir.Schedule(gemm)
    block = sch.get_block("gemm")
    sch.cache_read(block, 0, "shared")
    sch.cache_read(block, 1, "shared", consumer_blocks=[block])
    reads = [inst[1] for inst in sch.trace.as_json()[0] if inst[0] == "CacheRead"]
    assert reads == [["b0", []], ["b0", ["b0"]]]


def test_json_is_read_back():
    sch, again = sampled(), tir.Schedule(gemm)
    sch.cache_read("gemm", 0, "shared", consumer_blocks=["gemm"])
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert str(again.trace) == str(sch.trace)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_a_trace_grows_and_shrinks():
    trace = sampled().trace
    copy = tir.schedule.Trace(trace.insts, trace.decisions)
    assert str(copy) == str(trace)
    assert copy.pop().kind.name == "Split"
    assert len(copy.insts) == len(trace.insts) - 1
    copy.append(trace.insts[-1])
    assert str(copy) == str(trace)
    assert tir.schedule.Trace([], {}).pop() is None


def test_appended_calls_keep_their_decision():
    trace = tir.schedule.Trace([], {})
    for inst in sampled().trace.insts:
        trace.append(inst, [32, 2] if inst.kind.name == "SamplePerfectTile" else None)
    sch = tir.Schedule(gemm)
    trace.apply_to_schedule(sch, remove_postproc=False)
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("gemm")] == [32, 2, 8, 8, 64]


def test_calls_that_only_look_are_pure():
    pure = {inst.kind.name for inst in sampled().trace.insts if inst.kind.is_pure}
    assert pure == {"GetBlock", "GetLoops", "SamplePerfectTile"}


def test_a_simplified_trace_counts_from_0():
    sch = tir.Schedule(gemm)
    sch.get_block("root")
    loops = sch.get_loops(sch.get_block("gemm"))
    sch.unroll(loops[2])
    text = str(sch.trace.simplified(remove_postproc=True))
    assert "b0 = sch.get_block(name=\"gemm\"" in text and "sch.unroll(loop=l3)" in text


def by_hand():
    """Instructions of nobody's schedule: handles and sampled numbers are made by the program."""
    kind = tir.schedule.InstructionKind.get
    block, loop, other, third = tir.schedule.BlockRV(), *(tir.schedule.LoopRV() for _ in range(3))
    outer, inner = tir.Var("v0", "int32"), tir.Var("v1", "int32")
    instruction = tir.schedule.Instruction
    get_block = instruction(kind("GetBlock"), [], ["gemm", "main"], [block])
    get_loops = instruction(kind("GetLoops"), [block], [], [loop, other, third])
    sample = instruction(kind("SamplePerfectTile"), [loop], [2, 16], [outer, inner])
    split = instruction(kind("Split"), [loop, None, inner], [True, False],
                        [tir.schedule.LoopRV(), tir.schedule.LoopRV()])
    return [get_block, get_loops, sample, split]


def test_instructions_by_hand_print_without_names():
    assert [str(inst) for inst in by_hand()] == [
        "_ = sch.get_block(name=gemm, func_name=main)",
        "_, _, _ = sch.get_loops(block=_)",
        "_, _ = sch.sample_perfect_tile(loop=_, n=2, max_innermost_factor=16)",
        "_, _ = sch.split(loop=_, factors=[None, _], preserve_unit_iters=True, disable_predication=False)",
    ]


def test_a_trace_by_hand_is_written_and_applied():
    instructions = by_hand()
    trace = tir.schedule.Trace(instructions, {instructions[2]: [16, 4]})
    assert str(trace).splitlines()[2:] == [
        '  b0 = sch.get_block(name="gemm", func_name="main")',
        "  l1, l2, l3 = sch.get_loops(block=b0)",
        "  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[16, 4])",
        "  l6, l7 = sch.split(loop=l1, factors=[None, v5], preserve_unit_iters=True, disable_predication=False)",
    ]
    sch = tir.Schedule(gemm)
    trace.apply_to_schedule(sch, remove_postproc=False)
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("gemm")] == [16, 4, 64, 64]


def test_the_decision_of_a_trace_by_hand_changes():
    instructions = by_hand()
    sample = instructions[2]
    before = tir.schedule.Trace(instructions, {sample: [16, 4]})
    after = before.with_decision(sample, [8, 8], remove_postproc=False)
    assert list(before.get_decision(sample)) == [16, 4] and before.get_decision(instructions[0]) is None
    assert after.as_json()[1] == [[2, [8, 8]]]
    sch = tir.Schedule(gemm)
    after.apply_to_schedule(sch, remove_postproc=False)
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("gemm")] == [8, 8, 64, 64]


def test_a_call_without_a_decision_names_none():
    assert str(tir.schedule.Trace(by_hand(), {})).splitlines()[4].endswith("max_innermost_factor=16)")


def test_an_instruction_of_unknown_kind_is_an_attribute_error():
    with pytest.raises(AttributeError, match="Foo"):
        tir.schedule.InstructionKind.get("Foo")


def test_sampled_numbers_are_expressions():
    sch = tir.Schedule(gemm, seed=1)
    i, j, _ = sch.get_loops("gemm")
    one, two = (sch.sample_categorical([2, 4], [0.5, 0.5], decision=each) for each in (0, 1))
    assert isinstance(one, tir.Var) and isinstance(one, tir.schedule.ExprRV)
    assert sch.get(one) == 2 and sch.get(one * two + 1) == 9 and sch.get(tir.max(one, two)) == 4
    sch.split(i, [None, one * 2])
    sch.split(j, [None, tir.floordiv(two, one)])
    assert [sch.get(loop).extent for loop in sch.get_loops("gemm")[1:4:2]] == [4, 2]
    sch.annotate(i_block := sch.get_block("gemm"), "tiles", [one, two * 2])
    assert list(sch.get(i_block).annotations["tiles"]) == [2, 8]
    again = tir.Schedule(gemm)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_variables_of_the_program_are_no_sampled_numbers():
    sch = tir.Schedule(gemm)
    with pytest.raises(IndexError):
        sch.get(tir.Var("n", "int32") + 1)


def _annotated(value):
    sch = tir.Schedule(gemm, seed=1)
    drawn = sch.sample_categorical([5, 6], [0.5, 0.5], decision=1)
    sch.annotate(sch.get_block("gemm"), "tiles", value(drawn))
    return sch


def _tiles(sch):
    found = sch.get(sch.get_block("gemm")).annotations["tiles"]
    return [int(each) if not isinstance(each, (list, tuple)) else [int(one) for one in each] for each in found]


@pytest.mark.parametrize("value, shown, as_json, now, then", [
    (lambda drawn: [drawn, 2], "[v0, 2]", ["v0", 2], [6, 2], [5, 2]),
    (lambda drawn: (drawn, drawn), "[v0, v0]", ["v0", "v0"], [6, 6], [5, 5]),
    (lambda drawn: [[drawn, 1], [2, 3]], "[[v0, 1], [2, 3]]", [["v0", 1], [2, 3]], [[6, 1], [2, 3]], [[5, 1], [2, 3]])])
def test_a_drawn_number_in_a_list_follows_its_decision(value, shown, as_json, now, then):
    sch = _annotated(value)
    assert f"ann_val={shown})" in str(sch.trace) and sch.trace.as_json()[0][-1][1] == ["b1", as_json]
    assert _tiles(sch) == now
    other = tir.Schedule(gemm)
    sch.trace.with_decision(sch.trace.insts[0], 0, remove_postproc=False).apply_to_schedule(other)
    assert _tiles(other) == then
    again = tir.Schedule(gemm)
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert str(again.trace) == str(sch.trace)
    assert "sample_categorical" in str(sch.trace.simplified(remove_postproc=False))
    annotate = next(inst for inst in sch.trace.insts if inst.kind.name == "Annotate")
    rebuilt = tir.schedule.Instruction(annotate.kind, list(annotate.inputs), list(annotate.attrs), [])
    assert str(rebuilt) == str(annotate) and "_" in str(annotate)


def test_drawn_numbers_in_maps_are_numbers():
    sch = _annotated(lambda drawn: {"outer": drawn, "inner": [drawn, 1]})
    tiles = sch.get(sch.get_block("gemm")).annotations["tiles"]
    assert tiles["outer"] == 6 and list(tiles["inner"]) == [6, 1]


def test_handles_mean_nothing_to_other_schedules():
    sch = tir.Schedule(gemm)
    block = sch.get_block("gemm")
    i, j, _ = sch.get_loops(block)
    copy = sch.copy()
    outer, _ = sch.split(i, [None, 16])
    theirs = copy.get_loops(copy.get_block("gemm"))[0]
    assert copy.get(i).extent == 64 and copy.get(block).name_hint == "gemm" and copy.get(theirs).extent == 64
    for use in (lambda: copy.get(outer), lambda: copy.parallel(outer), lambda: copy.reorder(j, outer), lambda: copy.remove_rv(outer),
                lambda: copy.get_sref(outer), lambda: sch.get(theirs), lambda: tir.Schedule(gemm).get_loops(block),
                lambda: tir.Schedule(gemm).blockize([block])):
        with pytest.raises(IndexError):
            use()
    again = tir.Schedule(gemm)
    sch.trace.apply_to_schedule(again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    assert sch.get(sch.trace.insts[0].outputs[0]).name_hint == "gemm"


def test_traces_say_block_where_get_output_blocks_says_scope_block():
    sch = tir.Schedule(gemm)
    block, = sch.get_output_blocks(scope_block="root")
    assert sch.get(block).name_hint == "gemm"
    assert "sch.get_output_blocks(block=b0)" in str(sch.trace)


def test_the_consumers_of_a_copy_are_one_input():
    sch = tir.Schedule(gemm)
    block = sch.get_block("gemm")
    sch.cache_read(block, 0, "shared")
    sch.cache_read(block, 1, "shared", consumer_blocks=[block])
    assert [len(call.inputs[1]) for call in sch.trace.insts[1:3]] == [0, 1]
    b, c, d = BlockRV(), BlockRV(), BlockRV()
    made = Trace(
        [
            Instruction(InstructionKind.get("GetBlock"), [], ["gemm", "main"], [b]),
            Instruction(InstructionKind.get("CacheRead"), [b, []], [0, "shared"], [c]),
            Instruction(InstructionKind.get("CacheRead"), [b, [b]], [1, "shared"], [d]),
        ],
        {},
    )
    again = tir.Schedule(gemm)
    made.apply_to_schedule(again, remove_postproc=False)
    tvm.ir.assert_structural_equal(sch.mod, again.mod)
