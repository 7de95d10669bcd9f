"""Primitives that copy parts of a buffer, partition loops and roll buffers, as programs for TVM call them."""
import numpy as np
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir.schedule.testing import assert_structural_equal_ignore_global_symbol, verify_trace_roundtrip


@T.prim_func
def resize(A: T.Buffer((1, 3, 40, 40), "float32"), B: T.Buffer((1, 3, 80, 80), "float32")) -> None:
    for i0, i1, i2, i3 in T.grid(1, 3, 80, 80):
        with T.block("B"):
            n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(A[n, c, vi // 4 + vj // 4, vj // 2])
            T.writes(B[n, c, vi, vj])
            B[n, c, vi, vj] = A[n, c, vi // 4 + vj // 4, vj // 2]


# As TVM prints it: one stride whatever the rank, and regions that say nothing of the new buffers.
@T.prim_func
def resize_with_indices(A: T.Buffer((1, 3, 40, 40), "float32"), B: T.Buffer((1, 3, 80, 80), "float32")) -> None:
    index_var_0 = T.alloc_buffer([80, 80], dtype="int32", strides=[1])
    index_var_1 = T.alloc_buffer([80], dtype="int32", strides=[1])
    for ax0, ax1 in T.grid(80, 80):
        with T.block("index_0"):
            v0, v1 = T.axis.remap("SS", [ax0, ax1])
            T.reads()
            T.writes(index_var_0[v0, v1])
            index_var_0[v0, v1] = v0 // 4 + v1 // 4
    for ax0 in T.serial(80):
        with T.block("index_1"):
            v0 = T.axis.spatial(80, ax0)
            T.reads()
            T.writes(index_var_1[v0])
            index_var_1[v0] = v0 // 2
    for i0, i1, i2, i3 in T.grid(1, 3, 80, 80):
        with T.block("B"):
            n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(A[n, c, vi // 4 + vj // 4, vj // 2])
            T.writes(B[n, c, vi, vj])
            B[n, c, vi, vj] = A[n, c, index_var_0[vi, vj], index_var_1[vj]]


def test_cache_index():
    sch = tir.Schedule(resize, debug_mask="all")
    blocks = sch.cache_index("B", "global")
    assert [sch.get(block).name_hint for block in blocks] == ["index_0", "index_1"]
    assert_structural_equal_ignore_global_symbol(resize_with_indices, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=resize)


def test_what_cache_index_computes_is_not_moved_past_by_its_reader():
    sch = tir.Schedule(resize)
    index, _ = sch.cache_index(sch.get_block("B"), "global")
    with pytest.raises(tir.ScheduleError, match="touches more than it declares|no producer|is in another"):
        sch.reverse_compute_at(sch.get_block("B"), sch.get_loops(index)[0])


@T.prim_func
def scale_in_place(A: T.Buffer((8, 16), "float32")) -> None:
    for i in T.serial(8):
        with T.block("scale"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:16])
            T.writes(A[vi, 0:16])
            for j in T.serial(16):
                A[vi, j] = A[vi, j] * T.float32(2)


@T.prim_func
def scale_in_a_copy(A: T.Buffer((8, 16), "float32")) -> None:
    A_local = T.alloc_buffer((8, 16), scope="local")
    for i in T.serial(8):
        for ax0, ax1 in T.grid(1, 16):
            with T.block("A_local"):
                v0 = T.axis.spatial(8, i + ax0)
                v1 = T.axis.spatial(16, ax1)
                T.reads(A[v0, v1])
                T.writes(A_local[v0, v1])
                A_local[v0, v1] = A[v0, v1]
        with T.block("scale"):
            vi = T.axis.spatial(8, i)
            T.reads(A_local[vi, 0:16])
            T.writes(A_local[vi, 0:16])
            for j in T.serial(16):
                A_local[vi, j] = A_local[vi, j] * T.float32(2)
        for ax0, ax1 in T.grid(1, 16):
            with T.block("A_local"):
                v0 = T.axis.spatial(8, i + ax0)
                v1 = T.axis.spatial(16, ax1)
                T.reads(A_local[v0, v1])
                T.writes(A[v0, v1])
                A[v0, v1] = A_local[v0, v1]


def test_cache_inplace():
    sch = tir.Schedule(scale_in_place, debug_mask="all")
    read, write = sch.cache_inplace("scale", 0, "local")
    assert sch.get(read).name_hint == sch.get(write).name_hint == "A_local"
    assert_structural_equal_ignore_global_symbol(scale_in_a_copy, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=scale_in_place)


@T.prim_func
def add_one(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")) -> None:
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def add_one_in_parts(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")) -> None:
    with T.block("root"):
        T.reads()
        T.writes()
        with T.block("B_i_common"):
            T.reads()
            T.writes()
            with T.block("B_i0_partition"):
                T.reads()
                T.writes()
                for i0, j in T.grid(2, 32):
                    with T.block("B_i0"):
                        vi = T.axis.spatial(T.int32(2), i0)
                        vj = T.axis.spatial(32, j)
                        T.reads(A[0:2, 0:32])
                        T.writes(B[0:2, 0:32])
                        B[vi, vj] = A[vi, vj] + T.float32(1)
            with T.block("B_i1_partition"):
                T.reads()
                T.writes()
                for i1 in range(2, 16):
                    for j in range(32):
                        with T.block("B_i1"):
                            vi = T.axis.spatial((2, 16), i1)
                            vj = T.axis.spatial(32, j)
                            T.reads(A[2:16, 0:32])
                            T.writes(B[2:16, 0:32])
                            B[vi, vj] = A[vi, vj] + T.float32(1)


def test_loop_partition():
    sch = tir.Schedule(add_one, debug_mask="all")
    i, _ = sch.get_loops(sch.get_block("B"))
    parts = sch.loop_partition(i, factors=[2, None])
    assert len(parts) == 2 and sch.get(parts[1]).min == 2
    assert_structural_equal_ignore_global_symbol(add_one_in_parts, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=add_one)


@pytest.mark.parametrize("factors", [[8, 8], [None, None], [0, None], [-1, None], [16], []])
def test_loop_partition_refuses(factors):
    sch = tir.Schedule(add_one)
    with pytest.raises(tir.ScheduleError):
        sch.loop_partition(sch.get_loops(sch.get_block("B"))[0], factors)
    assert_structural_equal_ignore_global_symbol(add_one, sch.mod["main"])


def run(func, inputs, shape):
    result = tvm.nd.array(np.zeros(shape, "float32"))
    lib = tvm.build(func, target="llvm")
    lib(*[tvm.nd.array(value) for value in inputs], result)
    return result.numpy()


def test_parts_are_scheduled_apart_and_compute_the_same():
    sch = tir.Schedule(add_one)
    _, j = sch.get_loops(sch.get_block("B"))
    first, _ = sch.loop_partition(j, [4, None])
    sch.vectorize(first)
    data = np.random.rand(16, 32).astype("float32")
    np.testing.assert_array_equal(run(sch.mod, [data], (16, 32)), data + 1)


@T.prim_func
def two_stages(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")) -> None:
    for i in range(16):
        for j in range(32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)


def test_blockize_of_several_blocks():
    sch = tir.Schedule(two_stages, debug_mask="all")
    both = sch.blockize([sch.get_block("B"), sch.get_block("C")])
    block = sch.get(both)
    assert block.name_hint == "outer_B_C_"
    assert [region.buffer.name for region in block.reads] == ["B", "A"]
    assert [region.buffer.name for region in block.writes] == ["C", "B"]
    assert len(sch.get_loops(both)) == 1 and len(sch.get_child_blocks(both)) == 2
    verify_trace_roundtrip(sch=sch, mod=two_stages)


@T.prim_func
def opaque(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")) -> None:
    for i, j in T.grid(16, 32):
        with T.block("opaque"):
            T.reads(A[i, j])
            T.writes(B[i, j])
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)


def test_a_block_that_uses_its_loops_is_scheduled():
    sch = tir.Schedule(opaque, debug_mask="all")
    block = sch.get_block("opaque")
    i, j = sch.get_loops(block)
    assert sch.get_loops(sch.get_block("B")) == []
    j_0, j_1 = sch.split(j, [None, 5])
    sch.reorder(j_0, i)
    sch.parallel(sch.fuse(j_0, i))
    sch.vectorize(j_1)
    assert sch.get(sch.get_block("opaque")).name_hint == "opaque"
    data = np.random.rand(16, 32).astype("float32")
    np.testing.assert_array_equal(run(sch.mod, [data], (16, 32)), data + 1)
    verify_trace_roundtrip(sch=sch, mod=opaque)


@T.prim_func
def pool_twice(A: T.Buffer((12, 16), "float32"), C: T.Buffer((8, 16), "float32")) -> None:
    B = T.alloc_buffer((10, 16), "float32")
    for i, j, k in T.grid(10, 16, 3):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.float32(-1000)
            B[vi, vj] = T.max(B[vi, vj], A[vi + vk, vj])
    for i, j, k in T.grid(8, 16, 3):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(-1000)
            C[vi, vj] = T.max(C[vi, vj], B[vi + vk, vj])


@T.prim_func
def pool_twice_rolled(A: T.Buffer((12, 16), "float32"), C: T.Buffer((8, 16), "float32")) -> None:
    B = T.alloc_buffer((6, 16), "float32")
    for i_0 in T.serial(2):
        for ax0, ax1, ax2 in T.grid(6, 16, 3):
            with T.block("B"):
                vi = T.axis.opaque(10, i_0 * 4 + ax0)
                vj, vk = T.axis.remap("SR", [ax1, ax2])
                T.where(i_0 < 1 or 2 <= ax0)
                T.reads(A[vi + vk, vj])
                T.writes(B[vi % 6, vj])
                with T.init():
                    B[vi % 6, vj] = T.float32(-1000)
                B[vi % 6, vj] = T.max(B[vi % 6, vj], A[vi + vk, vj])
        for i_1, j, k in T.grid(4, 16, 3):
            with T.block("C"):
                vi = T.axis.opaque(8, i_0 * 4 + i_1)
                vj, vk = T.axis.remap("SR", [j, k])
                T.reads(B[(vi + vk) % 6, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(-1000)
                C[vi, vj] = T.max(C[vi, vj], B[(vi + vk) % 6, vj])


def test_rolling_buffer():
    sch = tir.Schedule(pool_twice, debug_mask="all")
    i, _, _ = sch.get_loops(sch.get_block("C"))
    i_0, _ = sch.split(i, [None, 4])
    sch.compute_at(sch.get_block("B"), i_0)
    assert sch.rolling_buffer(sch.get_block("B"), 0) is None
    assert_structural_equal_ignore_global_symbol(pool_twice_rolled, sch.mod["main"])
    verify_trace_roundtrip(sch=sch, mod=pool_twice)
    data = np.random.rand(12, 16).astype("float32")
    expected = np.max([data[k:k + 8] for k in range(5)], axis=0)
    np.testing.assert_array_equal(run(sch.mod, [data], (8, 16)), expected)


def test_rolling_buffer_of_an_output_is_refused():
    sch = tir.Schedule(pool_twice)
    with pytest.raises(tir.ScheduleError, match="writes an output"):
        sch.rolling_buffer(sch.get_block("C"), 0)


def test_read_at_and_write_at():
    sch = tir.Schedule(add_one, debug_mask="all")
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    i_0, _ = sch.split(i, [None, 4])
    read = sch.read_at(i_0, block, 0, "local")
    write = sch.write_at(i_0, block, 0, "local")
    assert [sch.get(b).name_hint for b in (read, write)] == ["A_local", "B_local"]
    assert sch.get(read).annotations["auto_copy"] == 1
    sch.annotate(read, "vector_bytes", 16)
    verify_trace_roundtrip(sch=sch, mod=add_one)
    data = np.random.rand(16, 32).astype("float32")
    np.testing.assert_array_equal(run(sch.mod, [data], (16, 32)), data + 1)


def test_unsafe_hide_buffer_access():
    sch = tir.Schedule(two_stages)
    sch.unsafe_hide_buffer_access(sch.get_block("C"), "read", [0])
    assert len(sch.get(sch.get_block("C")).reads) == 0
    with pytest.raises(tir.ScheduleError, match="give \"read\" or \"write\""):
        sch.unsafe_hide_buffer_access(sch.get_block("C"), "opaque", [0])
    verify_trace_roundtrip(sch=sch, mod=two_stages)


@T.prim_func
def moments(X: T.Buffer((32, 100), "float32"), Y: T.Buffer((32, 100), "float32")):
    S1 = T.alloc_buffer((32,))
    S2 = T.alloc_buffer((32,))
    N = T.alloc_buffer((32, 100))
    for i, k in T.grid(32, 100):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S1[vi] = T.float32(0)
                S2[vi] = T.float32(0)
            v1: T.float32 = S1[vi] + X[vi, vk]
            v2: T.float32 = S2[vi] + X[vi, vk] * X[vi, vk]
            S1[vi] = v1
            S2[vi] = v2
    for i, j in T.grid(32, 100):
        with T.block("N"):
            vi, vj = T.axis.remap("SS", [i, j])
            N[vi, vj] = X[vi, vj] - S1[vi] * T.float32(0.01)
    for i, j in T.grid(32, 100):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = N[vi, vj] * S2[vi]


@pytest.mark.parametrize("copy", [lambda sch: sch.cache_read("Y", 1, "shared"), lambda sch: sch.cache_write("R", 1, "local")])
def test_copies_of_one_of_several_results_stand_before_the_first_reader_of_any(copy):
    """As in TVM: between the sums and N, which reads the other one."""
    sch = tir.Schedule(moments)
    made = sch.get(copy(sch)).name_hint
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["R", made, "N", "Y"]


def test_read_at_takes_nothing_that_iterations_around_its_scope_write_at_once():  # Seed 140093523.
    @T.prim_func
    def func(A: T.Buffer((3, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(3):
            with T.block("outer"):
                vi = T.axis.spatial(3, i)
                T.reads(A[vi, 0:4])
                T.writes(B[vi * 3 : vi * 3 + 3])
                for j in range(3):
                    with T.block("init"):
                        vj = T.axis.spatial(8, vi * 3 + j)
                        T.where(vi * 3 + j < 8)
                        B[vj] = 0.0
                for j, k in T.grid(3, 4):
                    with T.block("update"):
                        vj, vk = T.axis.spatial(8, vi * 3 + j), T.axis.reduce(4, k)
                        T.where(vi * 3 + j < 8)
                        B[vj] = B[vj] + A[vi, vk]

    sch = tir.Schedule(func)
    sch.cache_inplace("update", 0, "local")
    copy = sch.get_child_blocks(sch.get_block("outer"))[1]
    serial = sch.copy()
    serial.read_at(serial.get_loops(copy)[-1], copy, 0, "local")
    sch.parallel(sch.get_loops("outer")[0])
    with pytest.raises(tvm.tir.ScheduleError, match='iterations of loop "i" around block "outer" run at once and write buffer "B"'):
        sch.read_at(sch.get_loops(copy)[-1], copy, 0, "local")


def test_reindex_cache_read_uses_no_variable_of_a_let_around_the_loops():  # Seed 150007143.
    @T.prim_func
    def func(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("outer"):
                vi = T.axis.spatial(8, i)
                T.reads(A[7 - vi])
                T.writes(B[vi])
                x: T.int32 = vi
                with T.block("inner"):
                    vx = T.axis.spatial(8, x)
                    B[vx] = A[7 - vx]

    sch = tir.Schedule(func)
    sch.add_unit_loop(sch.get_block("inner"))
    with pytest.raises(tvm.tir.ScheduleError, match='the copy would read more of "A" than block "outer" around it declares'):
        sch.reindex_cache_read("inner", 0, "global", lambda v: v)
