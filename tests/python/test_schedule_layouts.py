"""Layouts, tensor intrinsics and what else takes a function of indices, as programs for TVM call them."""
import pytest
import tvm
from programs import plus_one
from tvm import tir
from tvm.script import tir as T
from tvm.tir import IndexMap, TensorIntrin
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol, verify_trace_roundtrip
from tvm.tir.tensor_intrin.cuda import DP4A_S8S8S32_INTRIN
from tvm.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN


@T.prim_func
def scaled(A: T.Buffer((14, 16), "int32"), C: T.Buffer((14, 16), "int32")) -> None:
    B = T.alloc_buffer((14, 16), "int32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1


@T.prim_func
def transposed(A: T.Buffer((14, 16), "int32"), C: T.Buffer((14, 16), "int32")) -> None:
    B = T.alloc_buffer((16, 14), "int32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] * 2
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi] + 1


@T.prim_func
def padded(A: T.Buffer((14, 16), "int32"), C: T.Buffer((14, 16), "int32")) -> None:
    B = T.alloc_buffer((4, 16, 4), "int32")
    for i_0, j, i_1 in T.grid(4, 16, 4):
        with T.block("B"):
            vi_0, vj, vi_1 = T.axis.remap("SSS", [i_0, j, i_1])
            B[vi_0, vj, vi_1] = T.if_then_else(vi_0 == 3 and 2 <= vi_1, 7, A[vi_0 * 4 + vi_1, vj] * 2)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 4, vj, vi % 4] + 1


@pytest.mark.parametrize("index_map", [lambda i, j: (j, i), lambda *i: i[::-1], IndexMap.from_func(lambda i, j: (j, i))])
@pytest.mark.parametrize("buffer", [("write", 0), "B"])
def test_transform_layout(index_map, buffer):
    sch = tir.Schedule(scaled, debug_mask="all")
    sch.transform_layout(sch.get_block("B"), buffer, index_map)
    assert_structural_equal_ignore_global_symbol(transposed, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=scaled)


@pytest.mark.parametrize("pad_value", [7, lambda i_0, j, i_1: 7, lambda *_: tir.IntImm("int32", 7),
                                       IndexMap.from_func(lambda i_0, j, i_1: [7])])
def test_transform_layout_with_padding(pad_value):
    sch = tir.Schedule(scaled, debug_mask="all")
    sch.transform_layout("B", "B", lambda i, j: [i // 4, j, i % 4], pad_value=pad_value)
    assert_structural_equal_ignore_global_symbol(padded, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=scaled)


def test_transform_layout_refuses_gaps_without_a_value():
    sch = tir.Schedule(scaled)
    with pytest.raises(tir.ScheduleError, match="would introduce padding"):
        sch.transform_layout("B", "B", lambda i, j: [i // 4, j, i % 4])
    assert_structural_equal_ignore_global_symbol(scaled, sch.mod["main"])


def test_transform_layout_puts_separators():
    sch = tir.Schedule(scaled, debug_mask="all")
    sch.transform_layout("B", ("write", 0), lambda i, j: [i, IndexMap.AXIS_SEPARATOR, j])
    by_hand = tir.Schedule(scaled)
    by_hand.set_axis_separator("B", ("write", 0), [1])
    assert_structural_equal_ignore_global_symbol(by_hand.mod["main"], sch.mod["main"])
    assert list(sch.get(sch.get_block("B")).writes[0].buffer.axis_separators) == [1]
    verify_trace_roundtrip(sch=sch, mod=scaled)


def test_transform_block_layout():
    sch = tir.Schedule(scaled, debug_mask="all")
    sch.transform_block_layout("C", lambda i, j: (i * 16 + j,))
    (loop,) = sch.get_loops("C")
    assert sch.get(loop).extent == 224
    verify_trace_roundtrip(sch=sch, mod=scaled)


def test_reindex_cache_read():
    sch = tir.Schedule(scaled, debug_mask="all")
    copy = sch.reindex_cache_read("C", 0, "shared", lambda i, j: (j, i // 7, i % 7))
    assert sch.get(copy).name_hint == "B_shared"
    assert [int(extent) for extent in sch.get(copy).writes[0].buffer.shape] == [16, 2, 7]
    verify_trace_roundtrip(sch=sch, mod=scaled)


def test_annotate_takes_lists_maps_and_reals():
    sch = tir.Schedule(scaled)
    block = sch.get_block("B")
    for key, value in {"a": [1, 2], "b": {"k": 1, "l": ["x", 2]}, "c": 0.5, "d": ["x", "y"]}.items():
        sch.annotate(block, key, value)
    annotations = sch.get(block).annotations
    assert list(annotations["a"]) == [1, 2] and list(annotations["d"]) == ["x", "y"]
    assert annotations["b"]["k"] == 1
    verify_trace_roundtrip(sch=sch, mod=scaled)


def test_sample_compute_location():
    sch = tir.Schedule(scaled, seed=1)
    block = sch.get_block("B")
    sch.compute_at(block, sch.sample_compute_location(block, decision=0), preserve_unit_loops=True)
    assert [sch.get(loop).extent for loop in sch.get_loops(block)] == [14, 1, 16]
    verify_trace_roundtrip(sch=sch, mod=scaled)


@T.prim_func
def dot4_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int32", offset_factor=1)
    B = T.match_buffer(b, (4,), "int32", offset_factor=1)
    C = T.match_buffer(c, (1,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        for i in range(4):
            with T.block("update"):
                vi = T.axis.remap("R", [i])
                C[0] = C[0] + A[vi] * B[vi]


@T.prim_func
def dot4_impl(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int32", offset_factor=1)
    B = T.match_buffer(b, (4,), "int32", offset_factor=1)
    C = T.match_buffer(c, (1,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        C[0] = C[0] + T.call_pure_extern("int32", "dot4", A.data, A.elem_offset, B.data, B.elem_offset)


@T.prim_func
def matmul(A: T.Buffer((8, 16), "int32"), B: T.Buffer((8, 16), "int32"), C: T.Buffer((8, 8), "int32")) -> None:
    for i, j, k in T.grid(8, 8, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


@T.prim_func
def tensorized(A: T.Buffer((8, 16), "int32"), B: T.Buffer((8, 16), "int32"), C: T.Buffer((8, 8), "int32")) -> None:
    for i, j in T.grid(8, 8):
        with T.block("C_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = 0
        for k in range(4):
            with T.block("C_update_o"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(C[vi, vj], A[vi, vk * 4:vk * 4 + 4], B[vj, vk * 4:vk * 4 + 4])
                T.writes(C[vi, vj])
                a = T.match_buffer(A[vi, vk * 4:vk * 4 + 4], (4,), "int32", offset_factor=1)
                b = T.match_buffer(B[vj, vk * 4:vk * 4 + 4], (4,), "int32", offset_factor=1)
                c = T.match_buffer(C[vi, vj], (1,), "int32", offset_factor=1)
                c[0] = c[0] + T.call_pure_extern("int32", "dot4", a.data, a.elem_offset, b.data, b.elem_offset)


def test_tensorize_with_an_intrinsic_of_the_program():
    TensorIntrin.register("test.dot4", dot4_desc, dot4_impl)
    sch = tir.Schedule(matmul, debug_mask="all")
    block = sch.get_block("C")
    _, _, k = sch.get_loops(block)
    k_0, k_1 = sch.split(k, [None, 4])
    sch.decompose_reduction(block, k_0)
    sch.tensorize(k_1, "test.dot4")
    assert_structural_equal_ignore_global_symbol(tensorized, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=matmul)


def test_tensorize_says_what_does_not_match():
    sch = tir.Schedule(matmul)
    block = sch.get_block("C")
    i, _, _ = sch.get_loops(block)
    with pytest.raises(tir.ScheduleError, match="doesn't match the description"):
        sch.tensorize(i, DP4A_S8S8S32_INTRIN)
    assert_structural_equal_ignore_global_symbol(matmul, sch.mod["main"])


def test_intrinsics_are_there_by_name():
    vnni = TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
    assert [int(extent) for extent in vnni.desc.buffer_map[vnni.desc.params[1]].shape] == [16, 4]
    assert TensorIntrin.get("no such", allow_missing=True) is None
    with pytest.raises(ValueError, match="is not registered"):
        TensorIntrin.get("no such")


if __name__ == "__main__":
    tvm.testing.main()


@pytest.mark.parametrize("layout, reads, value", [
    (lambda n, c, h, w: (n, c // 4, c % 4, h, w), "X[v0, v1 * 4 + v2, v3 + -1, v4 + -1]", "X[v0, v1 * 4 + v2, v3 - 1, v4 - 1]"),
    (lambda n, c, h, w: (n * 8 + c, h * 16 + w), "X[0, v0, v1 // 16 + -1, v1 % 16 + -1]", "X[0, v0, v1 // 16 + -1, v1 % 16 + -1]"),
])
def test_transform_block_layout_writes_indices_by_their_iter_map(layout, reads, value):
    """Under a condition that bounds iter vars, by what is left of them; TVM 0.27 gives the same."""
    @T.prim_func
    def padded(X: T.Buffer((1, 8, 14, 14), "float32"), P: T.Buffer((1, 8, 16, 16), "float32")):
        for n, c, h, w in T.grid(1, 8, 16, 16):
            with T.block("P"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                P[vn, vc, vh, vw] = T.if_then_else(1 <= vh and vh < 15 and 1 <= vw and vw < 15, X[vn, vc, vh - 1, vw - 1], T.float32(0))

    sch = tir.Schedule(padded)
    sch.transform_block_layout("P", layout)
    text = sch.mod["main"].script()
    assert f"T.reads({reads})" in text
    assert f", {value}, T.float32(0" in text


def test_loops_that_transform_block_layout_makes_are_serial():
    sch = tir.Schedule(plus_one)
    i, j = sch.get_loops("B")
    sch.parallel(i)
    sch.vectorize(j)
    sch.transform_block_layout("B", lambda i, j: (j, i))
    assert [sch.get(loop).kind for loop in sch.get_loops("B")] == [tir.ForKind.SERIAL] * 2
