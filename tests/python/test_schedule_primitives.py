"""Primitives as programs for TVM call them: buffers by name, node or side, results as handles, traces that come back."""
import numpy as np
import pytest
import tvm
from programs import elementwise, matmul
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol, verify_trace_roundtrip


@T.prim_func
def row_sums(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16,), "float32")) -> None:
    for i, k in T.grid(16, 64):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def row_sums_in_parts(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16,), "float32")) -> None:
    B_rf = T.alloc_buffer((4, 16))
    for i, k_0, k_1 in T.grid(16, 4, 16):
        with T.block("B_rf"):
            vk_0, vi, vk_1 = T.axis.remap("SSR", [k_0, i, k_1])
            with T.init():
                B_rf[vk_0, vi] = T.float32(0)
            B_rf[vk_0, vi] = B_rf[vk_0, vi] + A[vi, vk_0 * 16 + vk_1]
    for i, k_0 in T.grid(16, 4):
        with T.block("B"):
            vk_0, vi = T.axis.remap("RS", [k_0, i])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + B_rf[vk_0, vi]


def test_rfactor():
    sch = tir.Schedule(row_sums, debug_mask="all")
    _, k = sch.get_loops(sch.get_block("B"))
    k_0, _ = sch.split(k, factors=[4, None])
    partial = sch.rfactor(k_0, 0)
    assert sch.get(partial).name_hint == "B_rf" and sch.func_working_on.name_hint == "main"
    assert_structural_equal_ignore_global_symbol(row_sums_in_parts, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=row_sums)


@T.prim_func
def last_smallest(X: T.Buffer((4, 8), "int32"), V0: T.Buffer((4,), "int32"), V1: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V0[vi] = -1
                V1[vi] = 2147483647
            v0: T.int32 = T.Select(V1[vi] < X[vi, vk] or V1[vi] == X[vi, vk] and V0[vi] > vk, V0[vi], vk)
            v1: T.int32 = T.Select(V1[vi] < X[vi, vk], V1[vi], X[vi, vk])
            V0[vi] = v0
            V1[vi] = v1


def test_rfactor_of_an_argmin_that_takes_the_last_of_equal_elements():
    sch = tir.Schedule(last_smallest, debug_mask="all")
    _, k_1 = sch.split(sch.get_loops("R")[1], [None, 2])
    sch.rfactor(k_1, 0)
    assert "V1[vi] == V1_rf[vk_1, vi] and V0[vi] > V0_rf[vk_1, vi]" in sch.mod.script()


@T.prim_func
def one_group(X: T.Buffer((4, 32), "float32"), Y: T.Buffer((4, 32), "float32")):
    for h, co, rc in T.grid(4, 32, 32):
        with T.block("Y"):
            vh, vco, vrc = T.axis.remap("SSR", [h, co, rc])
            with T.init():
                Y[vh, vco] = T.float32(0)
            Y[vh, vco] = Y[vh, vco] + X[vh, vco // 32 * 32 + vrc]


def test_reindex_copies_along_no_axis_whose_index_is_always_0():
    sch = tir.Schedule(one_group, debug_mask="all")
    sch.reindex("Y", ("read", 0))
    assert "X_reindex = T.alloc_buffer((4, 32))" in sch.mod.script()


@T.prim_func
def sums_of_unknown_length(a: T.handle, B: T.Buffer((4,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (4, n))
    for i, k in T.grid(4, n):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] += A[vi, vk]


def test_rfactor_of_parts_of_a_length_that_is_not_known():
    sch = tir.Schedule(sums_of_unknown_length, debug_mask="all")
    k_0, k_1 = sch.split(sch.get_loops("B")[1], [None, 32])
    with pytest.raises(tir.ScheduleError, match="leaves some iterations of the loop without an init"):
        sch.rfactor(k_1, 0)  # Of 20 elements, the last 12 have none.
    sch.rfactor(k_0, 0)
    assert "B_rf = T.alloc_buffer(((n + 31) // 32, 4))" in sch.mod.script()


def test_the_init_of_a_length_that_is_not_known_has_no_condition():
    sch = tir.Schedule(sums_of_unknown_length, debug_mask="all")
    k_0, _ = sch.split(sch.get_loops("B")[1], [None, 32])
    sch.decompose_reduction("B", k_0)
    assert sch.mod.script().count("T.where(") == 1  # Of the update.


def test_rfactor_refuses_a_dimension_that_there_is_not():
    sch = tir.Schedule(row_sums)
    with pytest.raises(tir.ScheduleError, match="factor_axis 2 is not in"):
        sch.rfactor(sch.get_loops("B")[1], 2)


@T.prim_func
def read_within_and_behind_a_loop(B: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    A = T.alloc_buffer((128,))
    for i in range(8):
        for j in range(16):
            with T.block("A"):
                vi = T.axis.S(128, i * 16 + j)
                A[vi] = 1.0
        for j in range(16):
            with T.block("B"):
                vi = T.axis.S(128, i * 16 + j)
                B[vi] = A[vi] + 1.0
    for i in range(128):
        with T.block("C"):
            vi = T.axis.S(128, i)
            C[vi] = A[vi]


def test_a_copy_in_a_loop_serves_readers_behind_it():
    sch = tir.Schedule(read_within_and_behind_a_loop, debug_mask="all")
    copy = sch.cache_read("B", 0, "global")
    assert len(sch.get_loops(copy)) == 2 and sch.get(sch.get_loops(copy)[0]).loop_var.name == "i"
    text = sch.mod.script()
    assert "B[vi] = A_global[vi] + T.float32(1.0)" in text and "C[vi] = A_global[vi]" in text


def test_a_result_is_copied_back_before_the_first_who_reads_it():
    sch = tir.Schedule(read_within_and_behind_a_loop, debug_mask="all")
    copy = sch.cache_write("A", 0, "global", consumer_blocks=["C"])
    assert [line.split('"')[1] for line in str(sch.trace).splitlines() if "get_block" in line] == ["C", "A"]
    assert len(sch.get_loops(copy)) == 2
    text = sch.mod.script()
    assert "B[vi] = A[vi] + T.float32(1.0)" in text and "C[vi] = A_global[vi]" in text


@T.prim_func
def made_and_used_within_tiles(D: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    A = T.alloc_buffer((16,))
    for i in range(4):
        with T.block("tile"):
            vt = T.axis.S(4, i)
            for j in range(4):
                with T.block("A"):
                    vi = T.axis.S(16, vt * 4 + j)
                    A[vi] = 1.0
            for j in range(4):
                with T.block("D"):
                    vi = T.axis.S(16, vt * 4 + j)
                    D[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.S(16, i)
            C[vi] = A[vi]


def test_what_a_block_of_blocks_makes_and_uses_is_cached():
    sch = tir.Schedule(made_and_used_within_tiles, debug_mask="all")
    sch.cache_read("C", 0, "global")
    assert "C[vi] = A_global[vi]" in sch.mod.script()
    sch = tir.Schedule(made_and_used_within_tiles, debug_mask="all")
    written = [region.buffer.name for region in sch.get(sch.get_block("tile")).writes]
    sch.cache_write("tile", written.index("A"), "local")
    assert "D[vi] = A_local[vi] + T.float32(1.0)" in sch.mod.script() and "C[vi] = A[vi]" in sch.mod.script()


def test_a_reader_that_packs_moves_to_what_it_packs():
    @T.prim_func
    def packed(A: T.Buffer((8, 8), "float32"), P: T.Buffer((2, 8, 4), "float32")):
        C = T.alloc_buffer((8, 8))
        for f, h in T.grid(8, 8):
            with T.block("C"):
                vf, vh = T.axis.remap("SS", [f, h])
                C[vf, vh] = A[vf, vh] * 2.0
        for fo, h, fi in T.grid(2, 8, 4):
            with T.block("P"):
                b, d, e = T.axis.remap("SSS", [fo, h, fi])
                P[b, d, e] = C[b * 4 + e, d]

    sch = tir.Schedule(packed, debug_mask="all")
    sch.reverse_compute_at("P", sch.get_loops("C")[0])
    assert "b = T.axis.spatial(2, f // 4)" in sch.mod.script() and "e = T.axis.spatial(4, f % 4)" in sch.mod.script()
    sch = tir.Schedule(packed, debug_mask="all")
    sch.reverse_compute_at("P", sch.split(sch.get_loops("C")[0], [2, 4])[1])
    assert 'b, d, e = T.axis.remap("SSS", [f_0, ax0, f_1])' in sch.mod.script()


def test_a_clipped_copy_is_split_with_a_tail():
    @T.prim_func
    def conv(A: T.Buffer((28, 28), "float32"), C: T.Buffer((28, 28), "float32")):
        for i0, j0 in T.grid(2, 4):
            for r in range(3):
                for i1, j1, s in T.grid(14, 7, 3):
                    with T.block("C"):
                        vi = T.axis.S(28, i0 * 14 + i1)
                        vj = T.axis.S(28, j0 * 7 + j1)
                        vr, vs = T.axis.remap("RR", [r, s])
                        with T.init():
                            C[vi, vj] = T.float32(0)
                        C[vi, vj] += T.if_then_else(1 <= vi + vr and vi + vr < 29 and 1 <= vj + vs and vj + vs < 29,
                                                    A[vi + vr - 1, vj + vs - 1], T.float32(0))

    sch = tir.Schedule(conv, debug_mask="all")
    i_0, j_0, r, _, _, _ = sch.get_loops("C")
    sch.bind(sch.fuse(i_0, j_0), "blockIdx.x")
    copy = sch.cache_read("C", 0, "shared")
    sch.compute_at(copy, r)
    _, thread = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 32])  # 144 elements
    sch.bind(thread, "threadIdx.x")
    sch.cache_write("C", 0, "local")


@T.prim_func
def called_in_place(data: T.Buffer((64,), "int32")):
    flat = T.alloc_buffer([64], dtype="int32")
    for i in range(64):
        with T.block("copy_in"):
            v = T.axis.remap("S", [i])
            flat[v] = data[v]
    for i in range(1):
        with T.block("call"):
            T.reads(flat[:64])
            T.writes(flat[:64])
            T.evaluate(T.call_extern("call_impl", flat.data, dtype=""))
    for i in range(64):
        with T.block("copy_out"):
            v = T.axis.remap("S", [i])
            data[v] = flat[v]


def test_what_is_changed_in_place_is_copied_for_one_of_its_blocks():
    sch = tir.Schedule(called_in_place, debug_mask="all")
    sch.cache_read("copy_in", 0, "local", [sch.get_block("copy_in")])
    assert "flat[v] = data_local[v]" in sch.mod.script() and "data[v] = flat[v]" in sch.mod.script()
    sch = tir.Schedule(called_in_place, debug_mask="all")
    sch.cache_write("copy_out", 0, "local", [sch.get_block("copy_out")])
    assert "flat[v] = data[v]" in sch.mod.script() and "data_local[v] = flat[v]" in sch.mod.script()
    sch = tir.Schedule(called_in_place, debug_mask="all")
    read, write = sch.cache_inplace("call", 0, "local")
    assert [sch.get(block).name_hint for block in (read, write)] == ["flat_local"] * 2
    assert 'T.call_extern("void", "call_impl", flat_local.data)' in sch.mod.script()


def test_a_name_means_what_is_written_and_a_buffer_what_is_read():
    @T.prim_func
    def doubled(A: T.Buffer((16,), "int32")):
        for i in range(16):
            with T.block("A"):
                vi = T.axis.S(16, i)
                A[vi] = A[vi] * 2

    sch = tir.Schedule(doubled)
    sch.transform_layout("A", sch.get(sch.get_block("A")).reads[0].buffer, lambda i: (i // 4, i % 4))
    assert 'buffer=("read", 0)' in str(sch.trace)
    sch = tir.Schedule(doubled)
    sch.transform_layout("A", "A", lambda i: (i // 4, i % 4))
    assert 'buffer=("write", 0)' in str(sch.trace)


@T.prim_func
def seen_through_views(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            view = T.match_buffer(B[vi, vj], (1, 1), offset_factor=1)
            view[0, 0] = A[vi, vj] * 2.0
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            view = T.match_buffer(B[vi, vj], (1, 1), offset_factor=1)
            C[vi, vj] = view[0, 0] + 1.0


def test_views_follow_the_scope_and_the_type_of_what_they_show():
    sch = tir.Schedule(seen_through_views, debug_mask="all")
    sch.set_scope("B", 0, "shared")
    text = sch.mod.script()
    assert text.count('view_shared = T.match_buffer(B_shared[vi, vj], (1, 1), scope="shared", offset_factor=1)') == 2
    sch = tir.Schedule(seen_through_views, debug_mask="all")
    sch.unsafe_set_dtype("B", 0, "float16")
    text = sch.mod.script()
    assert text.count('view = T.match_buffer(B[vi, vj], (1, 1), "float16", offset_factor=1)') == 2
    assert 'view[0, 0] = T.Cast("float16", A[vi, vj] * T.float32(2.0))' in text
    assert 'C[vi, vj] = T.Cast("float32", view[0, 0]) + T.float32(1.0)' in text


def test_reductions_of_tiles_are_decomposed_above_loops_over_tiles():
    @T.prim_func
    def matmul(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    sch = tir.Schedule(matmul, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i, i_1 = sch.split(i, [None, 16])
    j, j_1 = sch.split(j, [None, 16])
    k, k_1 = sch.split(k, [None, 16])
    sch.reorder(i, j, k, i_1, j_1, k_1)
    tile = sch.blockize(i_1)
    i_0, i_1 = sch.split(i, [2, 2])
    k_0, k_1 = sch.split(k, [2, 2])
    sch.reorder(i_0, j, k_0, i_1, k_1)
    sch.decompose_reduction(tile, k_0)
    loops = [sch.get(loop).loop_var.name for loop in sch.get_loops("C_o_init")]
    assert loops[:2] == ["i_0_0", "j_0"] and loops[2].startswith("i_0_1")
    a, b = np.random.default_rng(3).integers(-4, 4, (2, 64, 64)).astype("float32")
    c = tvm.nd.empty((64, 64))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_array_equal(c.numpy(), a @ b)


def test_blockize_gives_a_block_that_can_be_bound_and_cached():
    sch = tir.Schedule(elementwise, debug_mask="all")
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    i_0, i_1 = sch.split(i, [None, 16])
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    tile = sch.blockize(i_1)
    assert sch.get(tile).name_hint == "B_o"
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_1, "threadIdx.x")
    sch.set_scope(block, 0, "shared")
    assert "B_shared" in sch.mod.script()
    verify_trace_roundtrip(sch=sch, mod=elementwise)


@pytest.mark.parametrize("buffer", [("read", 0), "A", ("write", 0)])
def test_reindex_takes_a_side_or_a_name(buffer):
    sch = tir.Schedule(matmul, debug_mask="all")
    copy = sch.reindex("update", buffer)
    name = "C_reindex" if buffer == ("write", 0) else "A_reindex_reindex"
    assert sch.get(copy).name_hint == name
    verify_trace_roundtrip(sch=sch, mod=matmul)


def test_reindex_takes_a_buffer():
    sch = tir.Schedule(matmul)
    block = sch.get_block("update")
    sch.reindex(block, sch.get(block).reads[0].buffer)
    assert 'buffer=("read", 0)' in str(sch.trace)


@pytest.mark.parametrize("buffer", [("both", 0), 0, ("read",), "no such buffer"])
def test_reindex_says_what_names_a_buffer(buffer):
    sch = tir.Schedule(matmul)
    with pytest.raises((TypeError, ValueError), match="reindex: "):
        sch.reindex("update", buffer)


def test_merge_add_unit_loop_and_iter_var_order():
    sch = tir.Schedule(elementwise, debug_mask="all")
    merged = sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    assert sch.get(merged).extent == 128
    unit = sch.add_unit_loop("B")
    assert sch.get(unit).extent == 1
    sch.reorder_block_iter_var("B", [1, 0])
    assert [v.var.name for v in sch.get(sch.get_block("B")).iter_vars] == ["vj", "vi"]
    verify_trace_roundtrip(sch=sch, mod=elementwise)


def test_storage_align_and_output_blocks():
    sch = tir.Schedule(elementwise, debug_mask="all")
    sch.storage_align("B", 0, axis=-2, factor=32, offset=8)
    assert [[int(x) for x in one] for one in sch.get(sch.get_block("B")).annotations["buffer_dim_align"]] == [[0, 0, 32, 8]]
    assert [sch.get(b).name_hint for b in sch.get_output_blocks("root")] == ["C"]
    verify_trace_roundtrip(sch=sch, mod=elementwise)


def test_a_part_of_an_axis_is_bound_outside_of_another_part_of_it():
    sch = tir.Schedule(row_sums)
    i, _ = sch.get_loops("B")
    outer, inner = sch.split(i, [2, None])
    sch.reorder(inner, outer)
    sch.bind(inner, "threadIdx.x")
    assert sch.get(inner).thread_binding.thread_tag == "threadIdx.x"
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("B")] == [8, 2, 64]


@T.prim_func
def tiles(D: T.Buffer((16, 16), "float32"), V: T.Buffer((4, 49), "float32")) -> None:
    tile = T.alloc_buffer((4, 49))
    for e, p in T.grid(4, 49):
        with T.block("tile"):
            ve, vp = T.axis.remap("SS", [e, p])
            tile[ve, vp] = D[vp // 7 + ve, vp % 7]
    for e, p, r in T.grid(4, 49, 4):
        with T.block("V"):
            ve, vp, vr = T.axis.remap("SSR", [e, p, r])
            with T.init():
                V[ve, vp] = T.float32(0)
            V[ve, vp] = V[ve, vp] + tile[vr, vp] * T.Cast("float32", ve + vr)


def test_what_a_thread_makes_and_reads_itself_does_not_keep_a_loop_with_a_tail_from_being_bound():
    sch = tir.Schedule(tiles)
    e, p, r = sch.get_loops("V")
    sch.reorder(p, e, r)
    sch.compute_at("tile", p)
    sch.set_scope("tile", 0, "local")
    blocks, threads = sch.split(p, [None, 32])
    sch.bind(blocks, "blockIdx.x")
    sch.bind(threads, "threadIdx.x")
    assert [int(sch.get(loop).extent) for loop in (blocks, threads)] == [2, 32]


def test_the_init_of_a_reduction_keeps_the_annotations_of_its_block():
    sch = tir.Schedule(row_sums)
    sch.annotate("B", "meta_schedule.tiling_structure", "SR")
    init = sch.decompose_reduction("B", sch.get_loops("B")[1])
    for block in (init, sch.get_block("B_update")):
        assert dict(sch.get(block).annotations) == {"meta_schedule.tiling_structure": "SR"}


def test_traces_write_what_has_child_blocks_without_its_name():
    sch = tir.Schedule(row_sums)
    sch.get_child_blocks(sch.get_block("root"))
    assert str(sch.trace).splitlines()[-1].strip() == "b1, = sch.get_child_blocks(b0)"
    again = tir.Schedule(row_sums)
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert str(again.trace) == str(sch.trace)


@T.prim_func
def fused_copies(A: T.Buffer((8, 9, 4), "float32"), B: T.Buffer((8, 7, 4, 3), "float32")) -> None:
    for n, h, w, k in T.grid(8, 7, 4, 3):
        with T.block("B"):
            vn, vh, vw, vk = T.axis.remap("SSSS", [n, h, w, k])
            B[vn, vh, vw, vk] = A[vn, vh + vk, vw]


def test_places_of_copies_are_sums_in_the_order_of_tvm():
    sch = tir.Schedule(fused_copies)
    n, h, _, _ = sch.get_loops("B")
    fused = sch.fuse(n, h)
    copy = sch.cache_read("B", 0, "shared")
    sch.compute_at(copy, fused)
    assert "v1 = T.axis.spatial(9, n_h_fused % 7 + ax0)" in sch.mod.script()


@T.prim_func
def reduced(X: T.Buffer((64, 64), "float32"), Y: T.Buffer((64, 64), "float32")):
    P = T.alloc_buffer((64, 64))
    D = T.alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = X[vi, vj] * 2.0
    for i, j, k in T.grid(64, 64, 64):
        with T.block("D"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = 0.0
            D[vi, vj] += P[vi, vk]
    for i, j in T.grid(64, 64):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.max(D[vi, vj], 0.0)


@pytest.mark.parametrize("act", [
    lambda sch: sch.compute_inline("P"), lambda sch: sch.compute_at("P", sch.get_loops("Y")[0]),
    lambda sch: sch.cache_write("Y", 0, "local")], ids=["compute_inline", "compute_at", "cache_write"])
def test_a_parallel_loop_holds_a_reduction_that_is_decomposed(act):
    sch = tir.Schedule(reduced)
    loop = sch.get_loops("Y")[0]
    sch.compute_at("D", loop)
    sch.parallel(loop)
    sch.decompose_reduction("D", sch.get_loops("D")[1])
    act(sch)
    assert "in T.parallel(64):" in sch.mod.script()


@pytest.mark.parametrize("mark,text", [
    (lambda sch, loop: sch.parallel(loop), "for i_init in T.parallel(64):"),
    (lambda sch, loop: sch.bind(loop, "blockIdx.x"), 'for i_init in T.thread_binding(64, thread="blockIdx.x"):')],
    ids=["parallel", "bind"])
def test_the_loops_of_an_init_are_of_the_kind_of_those_of_its_reduction(mark, text):
    sch = tir.Schedule(reduced)
    loop = sch.get_loops("D")[0]
    mark(sch, loop)
    sch.decompose_reduction("D", loop)
    assert text in sch.mod.script()


@pytest.mark.parametrize("decision,tile", [([1, 64], [1, 64]), ([3, 7], [1, 64]), ([4, 3], [1, 64]), ([1, 2, 32], [1, 2, 32])])
def test_sample_perfect_tile_takes_a_decision_as_it_is(decision, tile):
    sch = tir.Schedule(reduced)
    factors = sch.sample_perfect_tile(sch.get_loops("D")[0], len(decision), 4, decision=decision)
    assert [int(sch.get(factor)) for factor in factors] == tile


def test_sample_perfect_tile_without_a_limit():
    sch = tir.Schedule(reduced)
    factors = [int(sch.get(v)) for v in sch.sample_perfect_tile(sch.get_loops("D")[0], 2, -1)]
    assert factors[0] * factors[1] == 64


@T.prim_func
def one_image(X: T.Buffer((1, 8, 10, 10), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    for n, c, h, w, r, q in T.grid(1, 8, 8, 8, 3, 3):
        with T.block("Y"):
            vn, vc, vh, vw, vr, vq = T.axis.remap("SSSSRR", [n, c, h, w, r, q])
            with T.init():
                Y[vn, vc, vh, vw] = 0.0
            Y[vn, vc, vh, vw] += X[vn, vc, vh + vr, vw + vq]


UNIT_ITERS_BY_NAME = [
    ("reindex_cache_read", lambda sch: sch.reindex_cache_read("Y", 0, "shared", lambda n, c, h, w, r, q: (n, h, r, w, q, c)),
     "X_shared[vn, vh, vr, vw, vq, vc]"),
    ("a_place_for_each_element",
     lambda sch: sch.reindex_cache_read("Y", 0, "shared", lambda n, c, h, w, r, q: (n, h + r, w + q, c)),
     "X_shared[vn, vh + vr, vw + vq, vc]"),
    ("a_place_for_each_element_of_one_image",
     lambda sch: sch.reindex_cache_read("Y", 0, "shared", lambda n, c, h, w, r, q: (n * 8 + c, h + r, w + q)),
     "X_shared[vn * 8 + vc, vh + vr, vw + vq]"),
    ("reindex_cache_write", lambda sch: sch.reindex_cache_write("Y", 0, "shared", lambda n, c, h, w, r, q: (n, h, w, c)),
     "Y[vn, vc, vh, vw] = Y_shared[vn, vh, vw, vc]"),
    ("blockize_of_unit_iters", lambda sch: sch.blockize(sch.get_loops("Y")[2], preserve_unit_iters=False),
     "X[0, vc_o, vh_i + vr_i, vw_i + vq_i]"),
    ("transform_block_layout", lambda sch: sch.transform_block_layout("Y", lambda n, c, h, w, r, q: (n, h, w, c, r, q)),
     "T.reads(X[v0, v3, v1 + v4, v2 + v5])"),
]


@pytest.mark.parametrize("act,text", [case[1:] for case in UNIT_ITERS_BY_NAME], ids=[case[0] for case in UNIT_ITERS_BY_NAME])
def test_iter_vars_of_one_value_are_kept_by_name(act, text):
    sch = tir.Schedule(one_image)
    act(sch)
    assert text in sch.mod.script()


@T.prim_func
def opaque_writer(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.reads(A[vi])
            T.writes(B[vi])
            T.evaluate(T.call_extern("int32", "f", T.address_of(A[vi]),
                                     T.tvm_access_ptr(T.type_annotation("float32"), B.data, vi, 1, 2)))
    for i in range(16):
        with T.block("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = B[vi] + 1.0


@pytest.mark.parametrize("act,name", [(lambda sch: sch.set_scope("B", 0, "shared"), "B_shared"),
                                      (lambda sch: sch.unsafe_set_dtype("B", 0, "float16"), "B")])
def test_pointers_move_with_the_buffer(act, name):
    sch = tir.Schedule(opaque_writer)
    act(sch)
    text = sch.mod.script()
    assert f" {name}.data, vi" in text and "T.handle" not in text  # A pointer that nothing owns would be declared.


def test_storage_is_aligned_by_one_of_its_writers():
    """Also after decompose_reduction, when two blocks write the buffer."""
    @T.prim_func
    def summed(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,))
        for i, k in T.grid(16, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi]

    sch = tir.Schedule(summed)
    sch.decompose_reduction("B", sch.get_loops("B")[1])
    sch.storage_align("B_update", 0, axis=0, factor=16, offset=4)
    assert '"buffer_dim_align": [[0, 0, 16, 4]]' in sch.mod.script()


def test_einsums_are_padded_around_what_only_computes():
    @T.prim_func
    def scaled(A: T.Buffer((5, 3), "float32"), V: T.Buffer((5,), "float32"), C: T.Buffer((5, 3), "float32")):
        for i, j in T.grid(5, 3):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.rsqrt(V[vi]) / V[vi]

    sch = tir.Schedule(scaled)
    sch.pad_einsum("C", [4, 4])
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("C")] == [8, 4]
    assert "C_pad[vi, vj] = A_pad[vi, vj] * T.rsqrt(V_pad[vi]) / V_pad[vi]" in sch.mod.script()


@pytest.mark.parametrize("rows, columns, inner", [(4, 4, 2), (4, 3, 4), (8, 6, 4), (14, 14, 4)])
def test_a_sum_is_decomposed_inside_of_a_fused_loop_that_was_split(rows, columns, inner):
    @T.prim_func
    def sums(A: T.Buffer((rows, columns, 6), "float32"), C: T.Buffer((rows, columns), "float32")):
        for i, j, k in T.grid(rows, columns, 6):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vj, vk]

    sch = tir.Schedule(sums)
    i, j, k = sch.get_loops("C")
    outer, lane = sch.split(sch.fuse(i, j), [None, inner])
    sch.reorder(outer, k, lane)
    sch.decompose_reduction("C", k)
    a = np.random.default_rng(0).random((rows, columns, 6), dtype="float32")
    c = tvm.nd.empty((rows, columns))
    tvm.build(sch.mod, target="llvm")(tvm.nd.array(a), c)
    np.testing.assert_allclose(c.numpy(), a.sum(2), rtol=1e-5)
