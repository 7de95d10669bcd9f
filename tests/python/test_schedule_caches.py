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
def in_one_loop_each(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    B = T.alloc_buffer((64, 64))
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for i, j in T.grid(64, 64):
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


@T.prim_func
def overlapping_tiles(A: T.Buffer((33,), "float32"), C: T.Buffer((16,), "float32")):
    P = T.alloc_buffer((33,))
    for i in range(33):
        with T.block("P"):
            vi = T.axis.spatial(33, i)
            P[vi] = A[vi] + T.float32(1)
    for i, k in T.grid(16, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + P[vi * 2 + vk]


def test_a_copy_comes_behind_tiles_that_overlap():
    sch = tir.Schedule(overlapping_tiles)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.compute_at("P", outer)
    copied = sch.cache_read("C", 0, "local")
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(copied)] == [4, 9]
    assert "v0 = T.axis.spatial(33, i_0 * 8 + ax0)" in sch.mod.script()


@T.prim_func
def unit_axis(A: T.Buffer((1, 8), "float32"), C: T.Buffer((1, 8), "float32")):
    for n, i in T.grid(1, 8):
        with T.block("C"):
            vn, vi = T.axis.remap("SS", [n, i])
            C[vn, vi] = A[vn, vi] + T.float32(1)


def test_indices_of_extent_1_stay_names():
    sch = tir.Schedule(unit_axis)
    sch.cache_write("C", 0, "local")
    assert "C_local[vn, vi] = A[vn, vi]" in sch.mod.script()


@pytest.mark.parametrize("primitive,block", [("cache_read", "C"), ("cache_write", "B")])
def test_the_copy_of_a_partial_tile_has_its_length(primitive, block):
    sch = tir.Schedule(in_one_loop_each)
    outer, _ = sch.split(sch.get_loops("C")[0], [None, 10])
    sch.compute_at("B", outer)
    getattr(sch, primitive)(block, 0, "local")
    assert "for ax0, ax1 in T.grid(64 - T.max(i_0 * 10, 54), 64):" in sch.mod.script()


@T.prim_func
def two_readers(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32"), D: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(16, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * C[vi, vj]


def test_a_reindexed_input_is_copied_first_by_the_loops_of_its_reader():
    @T.prim_func
    def after(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32"), D: T.Buffer((16, 8), "float32")):
        A_shared = T.alloc_buffer((8, 16), scope="shared")
        for i, j_0, j_1 in T.grid(16, 3, 3):
            with T.block("A_shared"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(8, j_0 * 3 + j_1)
                T.where(j_0 * 3 + j_1 < 8)
                A_shared[vj, vi] = A[vi, vj]
        for i, j in T.grid(16, 8):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + 1.0
        for i, j_0, j_1 in T.grid(16, 3, 3):
            with T.block("D"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(8, j_0 * 3 + j_1)
                T.where(j_0 * 3 + j_1 < 8)
                D[vi, vj] = A_shared[vj, vi] * C[vi, vj]

    sch = tir.Schedule(two_readers)
    sch.split(sch.get_loops("D")[1], [None, 3])
    sch.reindex_cache_read("D", 0, "shared", lambda i, j: (j, i))
    tvm.ir.assert_structural_equal(sch.mod["main"], after.with_attr("global_symbol", "two_readers"))


def test_a_reindexed_copy_has_the_loops_that_its_places_need():
    sch = tir.Schedule(two_readers)
    i, _ = sch.get_loops("C")
    sch.parallel(i)
    copy = sch.reindex_cache_write("C", 0, "local", lambda i, j: (j, i))
    loops = [sch.get(loop) for loop in sch.get_loops(copy)]
    assert [(loop.loop_var.name, int(loop.extent), loop.kind) for loop in loops] == [
        ("i", 16, tir.ForKind.SERIAL), ("j", 8, tir.ForKind.SERIAL)]


@T.prim_func
def rows_in_blocks(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo * 4:vo * 4 + 4, 0:16])
            T.writes(C[vo * 4:vo * 4 + 4, 0:16])
            for a, b in T.grid(4, 16):
                with T.block("C"):
                    va, vb = T.axis.remap("SS", [a, b])
                    C[vo * 4 + va, vb] = A[vo * 4 + va, vb] * 2.0


def test_a_reindexed_copy_stays_in_its_block():
    sch = tir.Schedule(rows_in_blocks)
    copy = sch.reindex("C", ("read", 0))
    assert sch.get(sch.get_loops(copy)[0]).loop_var.name == "ax0"
    text = sch.mod.script()
    assert "A_reindex = T.alloc_buffer((4, 16))" in text and "A_reindex[v0, v1] = A[vo * 4 + v0, v1]" in text


def test_blocks_within_blocks_write_outputs():
    sch = tir.Schedule(rows_in_blocks)
    assert [sch.get(block).name_hint for block in sch.get_output_blocks("root")] == ["outer", "C"]


@T.prim_func
def doubled_after(A: T.Buffer((32, 8), "float32"), C: T.Buffer((32, 8), "float32")):
    B = T.alloc_buffer((32, 8))
    for i, j in T.grid(32, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(32, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0


def test_loops_split_twice_that_do_not_divide():
    """The condition of the outer split follows from that of the inner one."""
    sch = tir.Schedule(doubled_after)
    outer, _ = sch.split(sch.get_loops("B")[0], [None, 3])
    sch.split(outer, [None, 3])
    moved = sch.copy()
    moved.compute_at("B", moved.get_loops("C")[0])
    assert [int(moved.get(loop).extent) for loop in moved.get_loops("B")] == [32, 8]
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert "T.where(i_0_0 * 9 + ax0 < 32)" in sch.mod.script()


@T.prim_func
def called_for_each(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            T.evaluate(T.call_extern("int32", "f", T.address_of(A[vi, vj]),
                                     T.tvm_access_ptr(T.type_annotation("float32"), B.data, vi * 16 + vj, 1, 2)))
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


def test_a_call_writes_what_its_block_declares():
    sch = tir.Schedule(called_for_each)
    sch.reverse_compute_at("C", sch.get_loops("B")[0])
    assert [int(sch.get(loop).extent) for loop in sch.get_loops("C")] == [16, 16]


@T.prim_func
def summed_rows(x: T.handle, o: T.handle):
    m = T.int32()
    X = T.match_buffer(x, (32, m))
    O = T.match_buffer(o, (32,))
    S = T.alloc_buffer((32,))
    for i, k in T.grid(32, m):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i in range(32):
        with T.block("O"):
            vi = T.axis.spatial(32, i)
            O[vi] = S[vi] * T.float32(2)


SUMS_OF_SYMBOLIC_LENGTH = {
    "cache_write": lambda sch: sch.cache_write("S", 0, "local"),
    "compute_at a parallel loop": lambda sch: (sch.parallel(sch.get_loops("O")[0]), sch.compute_at("S", sch.get_loops("O")[0])),
    "bind after compute_at": lambda sch: (sch.compute_at("S", sch.get_loops("O")[0]), sch.bind(sch.get_loops("O")[0], "blockIdx.x")),
    "reverse_compute_at": lambda sch: sch.reverse_compute_at("O", sch.get_loops("S")[0]),
    "reindex": lambda sch: sch.reindex("S", ("write", 0)),
}


@pytest.mark.parametrize("act", SUMS_OF_SYMBOLIC_LENGTH.values(), ids=SUMS_OF_SYMBOLIC_LENGTH.keys())
def test_a_dimension_of_a_parameter_is_not_empty(act):
    """As in TVM: a sum over it counts as one that is made."""
    act(tir.Schedule(summed_rows))
