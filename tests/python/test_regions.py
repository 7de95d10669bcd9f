"""What a block reads and writes where its text does not say so, as TVM finds it, and what primitives make of it."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol, verify_trace_roundtrip

PROGRAM = """
@T.prim_func
def main(a: T.handle, M: T.Buffer((64, 64), "float32"), idx: T.Buffer((64,), "int32"), C: T.Buffer((64,), "float32"), n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
"""


def regions_of(body):
    text = PROGRAM + "".join(f"            {line}\n" for line in body.splitlines())
    block = tvm.script.from_source(text).body.block.body.body.body.block
    return [str(region) for region in block.reads], [str(region) for region in block.writes]


@pytest.mark.parametrize("body, reads, writes", [
    ("C[vi] = M[idx[vi], vj]", ["M[idx[vi], vj]", "idx[vi]"], ["C[vi]"]),
    ("C[vi] = M[idx[vi] * 2 + vj, vj]", ["M[idx[vi] * 2 + vj, vj]", "idx[vi]"], ["C[vi]"]),
    ("for k in range(4):\n    C[vi] = M[idx[vi] + k, vj]", ["M[idx[vi]:idx[vi] + 4, vj]", "idx[vi]"], ["C[vi]"]),
    ("for k in range(4):\n    C[vi] = M[idx[vi * 4 + k], vj]", ["M[0:64, vj]", "idx[vi * 4:vi * 4 + 4]"], ["C[vi]"]),
    ("C[idx[vj]] = M[vi, vj]", ["M[vi, vj]", "idx[vj]"], ["C[idx[vj]]"]),
    ("for k in range(idx[vi]):\n    C[k] = A[k]", ["idx[vi]", "A[0:idx[vi]]"], ["C[0:idx[vi]]"]),
])
def test_an_element_chosen_by_memory_is_one_element(body, reads, writes):
    assert regions_of(body) == (reads, writes)


@pytest.mark.parametrize("body, reads, writes", [
    ("C[vi] = A[vi] + A[63 - vi]",
     ["A[T.min(vi, 63 - vi):T.min(vi, 63 - vi) + (T.max(vi, 63 - vi) + 1 - T.min(vi, 63 - vi))]"], ["C[vi]"]),
    ("C[vi] = A[vi] + A[vj]", ["A[T.min(vi, vj):T.min(vi, vj) + (T.max(vi, vj) + 1 - T.min(vi, vj))]"], ["C[vi]"]),
    ("for k in range(16):\n    C[vi] = A[(vi * 16 + k) // 4]", ["A[vi * 4:vi * 4 + 4]"], ["C[vi]"]),
    ("C[vi] = A[126 - vi * 2] + A[127 - vi * 2]", ["A[126 - vi * 2:126 - vi * 2 + 2]"], ["C[vi]"]),
    ("C[vi] = A[vi - vj * 2 + 126] + A[127 - vj * 2 + vi]", ["A[vi + 126 - vj * 2:vi + 126 - vj * 2 + 2]"], ["C[vi]"]),
    ("C[vi] = A[vi - vj * 2 - 3] + A[vi - vj * 2 - 2]", ["A[vi - vj * 2 - 3:vi - vj * 2 - 3 + 2]"], ["C[vi]"]),
    ("for k in range(3):\n    C[vi] = A[vi + vj * 20 + k]", ["A[vj * 20 + vi:vj * 20 + vi + 3]"], ["C[vi]"]),
    ("x: T.int32 = vi * 2\nC[x] = A[x + 1]", ["A[vi * 2 + 1]"], ["C[vi * 2]"]),
    ("for k in range(4):\n    x: T.int32 = vi * 4 + k\n    y: T.int32 = x + 1\n    C[x] = A[y]",
     ["A[vi * 4 + 1:vi * 4 + 1 + 4]"], ["C[vi * 4:vi * 4 + 4]"]),
    ("x: T.int32 = idx[vi]\nC[vi] = A[x]", ["idx[vi]", "A[idx[vi]]"], ["C[vi]"]),
    ("x: T.int32 = vi // 2\nfor k in range(x, x + 3):\n    C[vi] = A[k]", ["A[vi // 2:vi // 2 + 3]"], ["C[vi]"]),
    ("x: T.float32 = A[vi]\nC[vi] = x + A[vi + 1]", ["A[vi:vi + 2]"], ["C[vi]"]),
    ("for k in range(16):\n    C[vi] = A[(vi * 16 + k) % 4]", ["A[0:4]"], ["C[vi]"]),
    ("for k in range(n):\n    C[k] = A[vi * n + k]", ["A[vi * n:vi * n + n]"], ["C[0:n]"]),
    ("for k in range(vi):\n    C[k + 1] = A[k]", ["A[0:vi]"], ["C[1:1 + vi]"]),
])
def test_a_region_is_a_box_over_inner_loops_and_around_several_places(body, reads, writes):
    assert regions_of(body) == (reads, writes)


@pytest.mark.parametrize("body, reads, writes", [
    ("for k in range(8):\n    if k > 2:\n        C[k] = A[k]\n    else:\n        C[k + 8] = A[k + 16]", ["A[3:19]"],
     ["C[3:11]"]),
    ("for k in range(8):\n    C[vi] = T.if_then_else(k < 5, A[k], T.float32(0))", ["A[0:5]"], ["C[vi]"]),
    ("for k in range(16):\n    if k >= 2 and k < 10:\n        C[vi] = A[k]", ["A[2:10]"], ["C[vi]"]),
    ("for k in range(16):\n    if T.likely(k == 10):\n        C[vi] = A[k]", ["A[10]"], ["C[vi]"]),
    ("for k in range(8):\n    if k < vi:\n        C[vi] = A[k]", ["A[0:8]"], ["C[vi]"]),
])
def test_conditions_cut_inner_loops(body, reads, writes):
    assert regions_of(body) == (reads, writes)


@pytest.mark.parametrize("body, reads", [
    ("C[vi] = V[0, 2]", ["M[vi, vj + 2]"]),
    ("for k in range(2):\n    C[vi] = V[k, k + 1]", ["M[vi:vi + 2, vj + 1:vj + 1 + 2]"]),
])
def test_what_is_read_of_a_view_is_read_of_its_source(body, reads):
    view = "V = T.match_buffer(M[vi:vi + 4, vj:vj + 4], (4, 4), strides=[64, 1], offset_factor=1)\n"
    assert regions_of(view + body) == (reads, ["C[vi]"])


def test_a_pointer_for_reading_writes_nothing():
    pointer = "T.evaluate(T.tvm_access_ptr(T.type_annotation('float32'), C.data, 0, 64, 1))"
    assert regions_of(pointer) == (["C[0:64]"], [])


@T.prim_func
def argmax(idx: T.Buffer((8, 16), "int32"), val: T.Buffer((8, 16), "float32"), at: T.Buffer((8,), "int32"),
           top: T.Buffer((8,), "float32")):
    for i0, i1 in T.grid(8, 16):
        with T.block("argmax"):
            i, k = T.axis.remap("SR", [i0, i1])
            T.reads(idx[i, k], val[i, k])
            T.writes(at[i], top[i])
            with T.init():
                at[i] = -1
                top[i] = T.float32(0)
            at[i] = T.Select(top[i] >= val[i, k], at[i], idx[i, k])
            top[i] = T.Select(top[i] >= val[i, k], top[i], val[i, k])


def test_decompose_reduction_puts_what_is_updated_before_what_was_read():
    sch = tir.Schedule(argmax, debug_mask="all")
    sch.decompose_reduction("argmax", sch.get_loops("argmax")[0])
    update = sch.get(sch.get_block("argmax_update"))
    assert [region.buffer.name for region in update.reads] == ["at", "top", "idx", "val"]


@T.prim_func
def two_readers(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32"), D: T.Buffer((64, 64), "float32")):
    B = T.alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for i, j in T.grid(64, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vj, vi] + T.float32(1)


@T.prim_func
def second_reads_the_cache(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32"),
                           D: T.Buffer((64, 64), "float32")):
    B = T.alloc_buffer((64, 64))
    B_local = T.alloc_buffer((64, 64), scope="local")
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
    for ax0, ax1 in T.grid(64, 64):
        with T.block("B_local"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            B_local[v0, v1] = B[v0, v1]
    for i, j in T.grid(64, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B_local[vj, vi] + T.float32(1)


def test_cache_read_serves_the_consumers_that_are_named_right_before_the_first():
    sch = tir.Schedule(two_readers, debug_mask="all")
    sch.cache_read("C", 0, "local", consumer_blocks=["D"])
    assert_structural_equal_ignore_global_symbol(second_reads_the_cache, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=two_readers)


def blocks_in_order(func):
    names = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: names.append(node.name_hint) if isinstance(node, tir.Block) else None)
    return names


@pytest.mark.parametrize("block, order", [
    ("B", ["B", "E", "B_local", "C", "root"]),
    ("E", ["B", "E", "C", "E_local", "root"]),
])
def test_cache_write_copies_back_right_before_the_first_reader_or_at_the_end(block, order):
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), E: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((64,))
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(64):
            with T.block("E"):
                vi = T.axis.spatial(64, i)
                E[vi] = A[vi] + T.float32(1)
        for i in range(64):
            with T.block("C"):
                vi = T.axis.spatial(64, i)
                C[vi] = B[vi] + T.float32(1)

    sch = tir.Schedule(main, debug_mask="all")
    sch.cache_write(block, 0, "local")
    assert blocks_in_order(sch.mod["main"]) == order


@T.prim_func
def taken(A: T.Buffer((64, 16), "float32"), idx: T.Buffer((32,), "int32"), C: T.Buffer((32, 16), "float32")):
    B = T.alloc_buffer((32, 16))
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[idx[vi], vj]
    for i, j in T.grid(32, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * T.float32(2)


def test_reverse_compute_inline_lists_indices_before_what_they_choose():
    sch = tir.Schedule(taken, debug_mask="all")
    sch.reverse_compute_inline("C")
    assert [str(region) for region in sch.get(sch.get_block("B")).reads] == ["idx[vi]", "A[idx[vi], vj]"]


def test_with_decision_changes_a_copy_of_the_trace():
    sch = tir.Schedule(taken, seed=1)
    loop = sch.get_loops("C")[0]
    sch.split(loop, sch.sample_perfect_tile(loop, 2, 64, decision=[8, 4]))
    sch.enter_postproc()
    sch.vectorize(sch.get_loops("C")[-1])
    drawn = next(inst for inst in sch.trace.insts if inst.kind.name == "SamplePerfectTile")
    changed = sch.trace.with_decision(drawn, [2, 16], remove_postproc=True)
    again = tir.Schedule(taken)
    changed.apply_to_schedule(again, remove_postproc=False)
    assert [int(again.get(loop).extent) for loop in again.get_loops("C")] == [2, 16, 16]
    assert list(sch.trace.decisions.values())[0] == [8, 4]
    assert len(changed.insts) == len(sch.trace.insts) - 4


def test_the_text_of_an_index_map_of_one_result_is_that_of_a_tuple():
    assert str(tir.IndexMap.from_func(lambda i: [i + 1], index_dtype="int32")) == "T.index_map(lambda i: (i + 1,))"


@T.prim_func
def guarded(A: T.Buffer((120,), "float32"), C: T.Buffer((120,), "float32")):
    B = T.alloc_buffer((120,))
    for i0, i1 in T.grid(8, 16):
        with T.block("B"):
            T.where(i0 * 16 + i1 < 120)
            vi = T.axis.spatial(120, i0 * 16 + i1)
            B[vi] = A[vi] + T.float32(1)
    for i0, i1 in T.grid(8, 16):
        with T.block("C"):
            T.where(i0 * 16 + i1 < 120)
            vi = T.axis.spatial(120, i0 * 16 + i1)
            C[vi] = B[vi] * T.float32(2)


@T.prim_func
def guarded_inlined(A: T.Buffer((120,), "float32"), C: T.Buffer((120,), "float32")):
    for i0, i1 in T.grid(8, 16):
        with T.block("C"):
            T.where(i0 * 16 + i1 < 120)
            vi = T.axis.spatial(120, i0 * 16 + i1)
            C[vi] = (A[vi] + T.float32(1)) * T.float32(2)


def test_compute_inline_takes_a_producer_with_a_predicate():
    sch = tir.Schedule(guarded, debug_mask="all")
    sch.compute_inline("B")
    assert_structural_equal_ignore_global_symbol(guarded_inlined, sch.mod["main"])


@T.prim_func
def guarded_together(A: T.Buffer((120,), "float32"), C: T.Buffer((120,), "float32")):
    B = T.alloc_buffer((120,))
    for i0, i1 in T.grid(8, 16):
        with T.block("B"):
            T.where(i0 * 16 + i1 < 120)
            vi = T.axis.spatial(120, i0 * 16 + i1)
            B[vi] = A[vi] + T.float32(1)
        with T.block("C"):
            T.where(i0 * 16 + i1 < 120)
            vi = T.axis.spatial(120, i0 * 16 + i1)
            C[vi] = B[vi] * T.float32(2)


def test_reverse_compute_at_follows_a_predicate_into_the_innermost_loop():
    sch = tir.Schedule(guarded, debug_mask="all")
    sch.reverse_compute_at("C", sch.get_loops("B")[1])
    assert_structural_equal_ignore_global_symbol(guarded_together, sch.mod["main"])


@T.prim_func
def matmul_of_windows(X: T.Buffer((18, 8), "float32"), W: T.Buffer((3, 8, 4), "float32"), Y: T.Buffer((16, 4), "float32")):
    for h, co, r, c in T.grid(16, 4, 3, 8):
        with T.block("conv"):
            vh, vco, vr, vc = T.axis.remap("SSRR", [h, co, r, c])
            with T.init():
                Y[vh, vco] = T.float32(0)
            Y[vh, vco] = Y[vh, vco] + X[vh + vr, vc] * W[vr, vc, vco]


def test_transform_block_layout_leaves_simple_indices():
    sch = tir.Schedule(matmul_of_windows, debug_mask="all")
    sch.reindex("conv", ("read", 1))
    sch.transform_layout("conv", ("read", 1), lambda co, r, c: (r * 8 + c, co))
    sch.transform_block_layout("conv", lambda h, co, r, c: (h, co, r * 8 + c))
    block = sch.get(sch.get_block("conv"))
    assert [str(region) for region in block.reads] == ["X[v0 + v2 // 8, v2 % 8]", "W_reindex[v2, v1]"]


def test_a_region_with_a_step_of_one():
    @T.prim_func
    def f(A: T.Buffer((16,), "float32")):
        with T.block("b"):
            T.reads(A[0:8:1])
            T.writes(A[0])
            A[0] = A[1]
    assert str(f.body.block.reads[0]) == "A[0:8]"
    with pytest.raises(tvm.error.DiagnosticError, match="without a step"):
        tvm.script.from_source(f.script().replace("0:8", "0:8:2"))
