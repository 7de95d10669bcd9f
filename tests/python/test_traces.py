"""Traces as TVM's: built call by call, in JSON as v0.18 writes it, with handles counted from 0; facts that TVM confirmed."""
import tvm
from tvm import tir
from tvm.script import tir as T


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
