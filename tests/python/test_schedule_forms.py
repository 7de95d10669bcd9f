"""Forms of what primitives make: sums, conditions, annotations, shapes; facts that TVM confirmed."""
import numpy as np
import pytest
import tvm

from tvm import tir
from tvm.script import tir as T


@T.prim_func
def flattened(A: T.Buffer((32, 32), "float32"), D: T.Buffer((1024,), "float32")):
    C = T.alloc_buffer((32, 32))
    for i, j in T.grid(32, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(1024):
        with T.block("D"):
            vi = T.axis.spatial(1024, i)
            D[vi] = C[vi // 32, vi % 32]


@T.prim_func
def cut(A: T.Buffer((32,), "float32"), D: T.Buffer((30,), "float32")):
    C = T.alloc_buffer((32,))
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi] = A[vi] * T.float32(2)
    for i in range(30):
        with T.block("D"):
            vi = T.axis.spatial(30, i)
            D[vi] = C[vi]


@T.prim_func
def moved(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
    C = T.alloc_buffer((40,))
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            C[vi + 3] = A[vi] * T.float32(2)
    for i in range(32):
        with T.block("D"):
            vi = T.axis.spatial(32, i)
            D[vi] = C[vi + 3]


@T.prim_func
def flat(A: T.Buffer((128,), "float32"), D: T.Buffer((15, 7), "float32")):
    C = T.alloc_buffer((128,))
    for i in range(128):
        with T.block("C"):
            vi = T.axis.spatial(128, i)
            C[vi] = A[vi] * T.float32(2)
    for i, j in T.grid(15, 7):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi * 7 + vj]


@T.prim_func
def under_a_condition(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
    C = T.alloc_buffer((32,))
    for i in range(32):
        with T.block("C"):
            vi = T.axis.spatial(32, i)
            if vi < 20:
                C[vi] = A[vi] * T.float32(2)
    for i in range(32):
        with T.block("D"):
            vi = T.axis.spatial(32, i)
            D[vi] = C[vi] + T.float32(1)


REVERSE_INLINED = [
    ("sums_are_as_the_inverse_map_has_them", flattened, "D[vj + vi * 32] = A[vi, vj]"),
    ("what_nobody_reads_is_left_out", cut, "T.where(i < 30)"),
    ("a_part_of_a_flat_buffer", flat, "T.where(i < 105)"),
    ("where_the_producer_stores", under_a_condition, "D[vi] = A[vi] * T.float32(2.0) + T.float32(1.0)"),
    ("what_is_moved_comes_back", moved, "D[vi + 3 - 3] = A[vi]"),
]


@pytest.mark.parametrize("func,text", [case[1:] for case in REVERSE_INLINED], ids=[case[0] for case in REVERSE_INLINED])
def test_reverse_compute_inline(func, text):
    sch = tir.Schedule(func)
    sch.reverse_compute_inline("D")
    assert text in sch.mod.script()


@pytest.mark.parametrize("func,factor,text", [
    (cut, 5, "T.where(i_0 * 5 + i_1 < 30)"), (flat, 10, "T.where(i_0 * 10 + i_1 < 105)"),
    (moved, 5, "T.where(i_0 * 5 + i_1 < 32)")], ids=["cut", "flat", "whole"])
def test_reverse_compute_inline_into_a_split_nest(func, factor, text):
    sch = tir.Schedule(func)
    sch.split(sch.get_loops("C")[0], [None, factor])
    sch.reverse_compute_inline("D")
    assert text in sch.mod.script()


def test_reverse_compute_inline_leaves_a_consumer_that_has_a_value_of_its_own():
    @T.prim_func
    def chosen(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        C = T.alloc_buffer((32,))
        for i in range(32):
            with T.block("C"):
                vi = T.axis.spatial(32, i)
                if vi < 20:
                    C[vi] = A[vi]
        for i in range(32):
            with T.block("D"):
                vi = T.axis.spatial(32, i)
                D[vi] = T.if_then_else(vi < 20, C[vi], T.float32(0))

    with pytest.raises(tir.ScheduleError, match="stores under a condition"):
        tir.Schedule(chosen).reverse_compute_inline("D")


@T.prim_func
def less_is_made(A: T.Buffer((20,), "float32"), D: T.Buffer((30,), "float32")):
    C = T.alloc_buffer((32,))
    for i in range(20):
        with T.block("C"):
            vi = T.axis.spatial(20, i)
            C[vi] = A[vi]
    for i in range(30):
        with T.block("D"):
            vi = T.axis.spatial(30, i)
            D[vi] = C[vi]


def test_what_is_read_must_be_made():
    with pytest.raises(tir.ScheduleError):
        tir.Schedule(less_is_made).reverse_compute_inline("D")


@T.prim_func
def matmul(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_the_init_keeps_annotations():
    sch = tir.Schedule(matmul)
    block = sch.get_block("C")
    sch.annotate(block, "mark", 1)
    i, j, k = sch.get_loops(block)
    sch.annotate(j, "loop_mark", 2)
    sch.reorder(i, k, j)
    init = sch.decompose_reduction(block, k)
    assert dict(sch.get(init).annotations) == {"mark": 1}
    assert dict(sch.get(sch.get_loops(init)[-1]).annotations) == {"loop_mark": 2}


@T.prim_func
def windows(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.alloc_buffer((34,))
    for i in range(34):
        with T.block("pad"):
            vi = T.axis.spatial(34, i)
            B[vi] = T.if_then_else(2 <= vi and vi < 32, A[vi - 2], T.float32(0), dtype="float32")
    for i, k in T.grid(30, 5):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = T.max(C[vi], B[vi + vk])


def test_padding_of_tiles_that_overlap_is_decomposed():
    sch = tir.Schedule(windows)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 5])
    sch.compute_at("pad", outer)
    sch.decompose_padding("pad", sch.get_loops("pad")[1])
    text = sch.mod.script()
    assert "vi = T.axis.spatial(34, i_0 * 5 + ax0)" in text and "T.where(2 <= i_0 * 5 + ax0 and i_0 * 5 + ax0 < 32)" in text


@T.prim_func
def rows(A: T.Buffer((30, 30), "float32"), B: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(32, 32):
        with T.block("pad"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.if_then_else(1 <= vi and vi < 31 and 1 <= vj and vj < 31, A[vi - 1, vj - 1], T.float32(0), dtype="float32")


def test_conditions_on_fused_loops_are_simplified():
    sch = tir.Schedule(rows)
    fused = sch.fuse(*sch.get_loops("pad"))
    sch.decompose_padding("pad", fused)
    assert "T.where(32 <= i_j_fused and i_j_fused < 992 and 1 <= i_j_fused % 32 and i_j_fused % 32 < 31)" in sch.mod.script()


def test_a_scope_that_is_there_already_is_no_error():
    sch = tir.Schedule(matmul)
    sch.set_scope("C", 0, "global")
    assert str(sch.trace).endswith('sch.set_scope(block=b0, buffer_index=0, storage_scope="global")')


@T.prim_func
def one_row(A: T.Buffer((4, 8), "float32"), D: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((4, 8))
    for i, j in T.grid(4, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
    for u, j in T.grid(1, 8):
        with T.block("D"):
            vu, vj = T.axis.remap("SS", [u, j])
            D[vj] = C[vu + 2, vj]


def test_a_row_of_several_is_not_inlined():
    with pytest.raises(tir.ScheduleError):
        tir.Schedule(one_row).reverse_compute_inline("D")


@T.prim_func
def of_any_length(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,))
    C = T.match_buffer(c, (n,))
    B = T.alloc_buffer((n,))
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] + T.float32(1)
    for i in range(n):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = B[vi]


def test_padded_symbolic_extents_are_what_is_missing_and_more():
    sch = tir.Schedule(of_any_length)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 16, i % 16], pad_value=0.0)
    text = sch.mod.script()
    assert "T.alloc_buffer(((n - n % T.int64(-16)) // T.int64(16), T.int64(16)))" in text
    assert "T.if_then_else(n % T.int64(-16) < T.int64(0) and v_axis0 == n // T.int64(16) and n % T.int64(16) <= v_axis1" in text
    outer, _ = sch.get_loops("B")
    sch.parallel(outer)
    sch.cache_read("C", 0, "local")


@T.prim_func
def two_of_ten_by_twelve(A: T.Buffer((10, 12), "float32"), C: T.Buffer((10, 12), "float32")):
    B = T.alloc_buffer((10, 12))
    for i, j in T.grid(10, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(10, 12):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


TILES_OF_FUSED = [
    ("rows_that_a_tile_may_touch", [None, 16], 0, "T.grid(2, 12)", "T.where(i_j_fused_0 * 16 // 12 + ax0 < 10)"),
    ("as_many_rows_as_it_touches", [None, 5], 0, "T.grid((i_j_fused_0 * 5 % 12 + 4) // 12 + 1, 12)", "i_j_fused_0 * 5 // 12 + ax0"),
    ("part_of_a_row", [None, 6], 0, "range(6)", "i_j_fused_0 % 2 * 6 + ax0"),
    ("part_of_a_row_by_what_divides", [None, 8, 4], 1, "range(4)", "T.where(i_j_fused_0 * 8 + i_j_fused_1 < 30)"),
]


@pytest.mark.parametrize("factors,at,loops,text", [case[1:] for case in TILES_OF_FUSED], ids=[case[0] for case in TILES_OF_FUSED])
def test_compute_at_a_tile_of_a_fused_loop(factors, at, loops, text):
    sch = tir.Schedule(two_of_ten_by_twelve)
    tiles = sch.split(sch.fuse(*sch.get_loops("C")), factors)
    sch.compute_at("B", tiles[at])
    assert loops in sch.mod.script()
    assert text in sch.mod.script()


def test_symbolic_tiles_are_counted_as_tvm_does():
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, 128))
        for i, j in T.grid(n, 128):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(1)

    sch = tir.Schedule(func)
    sch.split(sch.fuse(*sch.get_loops("A")), [None, 1024])
    assert "T.grid((n * 128 + 1023) // 1024, 1024)" in sch.mod.script()


@T.prim_func
def product(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("depth", [0, 1])
def test_an_init_that_stands_apart_has_loops_of_its_own(depth):
    sch = tir.Schedule(product)
    loops = sch.get_loops(sch.decompose_reduction("C", sch.get_loops("C")[depth]))
    sch.vectorize(loops[-1])
    assert "T.vectorized(16)" in sch.mod.script()


def test_reverse_compute_inline_keeps_a_batch_of_one():
    @T.prim_func
    def func(A: T.Buffer((1, 16), "float32"), C: T.Buffer((1, 16), "float32")):
        B = T.alloc_buffer((1, 16))
        for i, j in T.grid(1, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for i, j in T.grid(1, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)

    sch = tir.Schedule(func)
    sch.reverse_compute_inline("C")
    assert "C[vi, vj] = (A[vi, vj] + T.float32(1.0)) * T.float32(2.0)" in sch.mod.script()


def _inlined(store, load, shape):
    """A module whose consumer of B, which is stored at `store` and read at `load`, has B's value inlined."""
    source = f"""from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer({shape})
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[{store}] = A[vi, vj]
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[{load}]
"""
    sch = tir.Schedule(tvm.script.from_source(source))
    sch.compute_inline("B")
    return sch.mod.script()


INLINED = [
    ("vi * 8 + vj", "vi * 8 + vj", "(128,)", "C[vi, vj] = A[(vi * 8 + vj) // 8, (vi * 8 + vj) % 8]"),
    ("vi, vj + 1", "vi, vj + 1", "(16, 9)", "C[vi, vj] = A[vi, vj + 1 - 1]"),
    ("vj, vi // 8, vi % 8", "vj, vi // 8, vi % 8", "(8, 2, 8)", "C[vi, vj] = A[vi % 8 + vi // 8 * 8, vj]"),
]


@pytest.mark.parametrize("store,load,shape,text", INLINED, ids=[case[0] for case in INLINED])
def test_stores_at_affine_places_are_inlined(store, load, shape, text):
    assert text in _inlined(store, load, shape)


def test_blockize_simplifies_by_what_the_inner_iter_vars_are():
    sch = tir.Schedule(flattened)
    sch.compute_inline("C")
    _, inner = sch.split(sch.get_loops("D")[0], [None, 8])
    sch.blockize(inner)
    assert "T.reads(A[vi_o // 4, vi_o % 4 * 8 + vi_i])" in sch.mod.script()
    assert "T.reads(A[vi_o // 4, vi_o % 4 * 8:vi_o % 4 * 8 + 8])" in sch.mod.script()


def _decomposed(depth):
    sch = tir.Schedule(windows)
    outer, inner = sch.split(sch.get_loops("C")[0], [None, 5])
    sch.compute_at("pad", inner)
    filled = sch.decompose_padding("pad", sch.get_loops("pad")[depth])
    return sch, sch.get(filled).name_hint


def test_padding_is_filled_before_a_loop_that_its_reader_shares():
    sch, filled = _decomposed(0)
    assert filled == "pad_pad_const" and [len(sch.get_loops(name)) for name in ("pad_pad_const", "pad", "C")] == [3, 3, 3]

    @T.prim_func
    def expected(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
        B = T.alloc_buffer((34,))
        for i_0, i_1, ax0 in T.grid(6, 5, 5):
            with T.block("pad_pad_const"):
                vi = T.axis.spatial(34, i_0 * 5 + i_1 + ax0)
                B[vi] = T.float32(0)
        for i_0, i_1 in T.grid(6, 5):
            for ax0 in range(5):
                with T.block("pad"):
                    vi = T.axis.spatial(30, i_0 * 5 + i_1 + ax0 - 2)
                    T.where(2 <= i_0 * 5 + i_1 + ax0 and i_0 * 5 + i_1 + ax0 < 32)
                    B[vi + 2] = A[vi]
            for k in range(5):
                with T.block("C"):
                    vi = T.axis.spatial(30, i_0 * 5 + i_1)
                    vk = T.axis.reduce(5, k)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = T.max(C[vi], B[vi + vk])
    tvm.ir.assert_structural_equal(sch.mod["main"], expected.with_attr("global_symbol", "windows"))


def test_padding_filled_at_the_innermost_shared_loop_leaves_its_reader():
    sch, _ = _decomposed(1)
    assert [len(sch.get_loops(name)) for name in ("pad_pad_const", "pad", "C")] == [3, 3, 3]


@T.prim_func
def padded_conv(A: T.Buffer((28, 28), "float32"), W: T.Buffer((3, 3), "float32"), C: T.Buffer((28, 28), "float32")):
    for i0, j0, r, i1, j1, s in T.grid(2, 4, 3, 14, 7, 3):
        with T.block("C"):
            vi, vj = T.axis.S(28, i0 * 14 + i1), T.axis.S(28, j0 * 7 + j1)
            vr, vs = T.axis.remap("RR", [r, s])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.if_then_else(1 <= vi + vr and vi + vr < 29 and 1 <= vj + vs and vj + vs < 29,
                                                   A[vi + vr - 1, vj + vs - 1], T.float32(0)) * W[vr, vs]


@pytest.mark.parametrize("lanes", [9, 32, 50])
def test_a_clipped_copy_that_is_split_with_a_tail_is_still_known_to_be_whole(lanes):
    sch = tir.Schedule(padded_conv)
    i0, j0, r, *_ = sch.get_loops("C")
    sch.parallel(sch.fuse(i0, j0))
    copy = sch.cache_read("C", 0, "global")
    sch.compute_at(copy, r)
    sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, lanes])
    sch.cache_write("C", 0, "global")
    a, w, c = (np.random.rand(*shape).astype("float32") for shape in ((28, 28), (3, 3), (28, 28)))
    result = tvm.nd.array(c)
    tvm.build(sch.mod["main"], target="llvm")(tvm.nd.array(a), tvm.nd.array(w), result)
    framed = np.pad(a, 1)
    np.testing.assert_allclose(
        result.numpy(), sum(framed[y:y + 28, x:x + 28] * w[y, x] for y in range(3) for x in range(3)), rtol=1e-5)


@T.prim_func
def padded_row(X: T.Buffer((30,), "float32"), Y: T.Buffer((32,), "float32")):
    P = T.alloc_buffer((32,), "float32")
    for i in range(32):
        with T.block("pad"):
            vi = T.axis.spatial(32, i)
            P[vi] = T.if_then_else(1 <= vi and vi < 31, X[vi - 1], T.float32(0), dtype="float32")
    for i in range(32):
        with T.block("Y"):
            vi = T.axis.spatial(32, i)
            Y[vi] = P[vi] * T.float32(2)


def test_the_condition_of_a_split_keeps_loops_of_one_iteration():
    sch = tir.Schedule(padded_row)
    sch.split(sch.get_loops("Y")[0], [None, 33], preserve_unit_iters=False)
    assert "T.where(i_0 * 33 + i_1 < 32)" in sch.mod.script()


def test_what_is_inside_of_a_padding_is_asked_before_what_the_block_asked():
    sch = tir.Schedule(padded_row)
    sch.split(sch.get_loops("pad")[0], [None, 5])
    sch.decompose_padding("pad", sch.get_loops("pad")[0])
    assert "T.where(1 <= i_0 * 5 + i_1 and i_0 * 5 + i_1 < 31 and i_0 * 5 + i_1 < 32)" in sch.mod.script()


@T.prim_func
def two_results(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32"), D: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + C[vi, vj]


@pytest.mark.parametrize("block, order", [("B", ["B", "C", "B_shared", "D"]), ("D", ["B", "C", "D", "D_shared"])])
def test_reindex_cache_write_copies_back_before_the_first_reader(block, order):
    sch = tir.Schedule(two_results)
    sch.reindex_cache_write(block, 0, "shared", lambda i, j: (j, i))
    assert [sch.get(child).name_hint for child in sch.get_child_blocks(sch.get_block("root"))] == order
