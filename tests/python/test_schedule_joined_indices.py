"""What compute_at finds where indices join or split iter vars, and what fuse writes; TVM 0.27 gives the same programs."""
import pytest
import tvm

from tvm import tir
from tvm.script import tir as T


@T.prim_func
def two(A: T.Buffer((128, 64), "float32"), D: T.Buffer((128, 64), "float32")):
    E = T.alloc_buffer((128, 64))
    for i, j in T.grid(128, 64):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(128, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj] + T.float32(1)


@T.prim_func
def heads(A: T.Buffer((64, 128), "float32"), B: T.Buffer((128, 256), "float32"), D: T.Buffer((64, 256), "float32")):
    E = T.alloc_buffer((64, 4, 64))
    for i, h, j, k in T.grid(64, 4, 64, 128):
        with T.block("E"):
            vi, vh, vj, vk = T.axis.remap("SSSR", [i, h, j, k])
            with T.init():
                E[vi, vh, vj] = T.float32(0)
            E[vi, vh, vj] = E[vi, vh, vj] + A[vi, vk] * B[vk, vh * 64 + vj]
    for i, j in T.grid(64, 256):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = E[vi, vj // 64, vj % 64] * T.float32(2)


@T.prim_func
def tokens(A: T.Buffer((64, 96), "float32"), D: T.Buffer((4, 16, 96), "float32")):
    E = T.alloc_buffer((64, 96))
    for i, j in T.grid(64, 96):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] * T.float32(2)
    for a, b, c in T.grid(4, 16, 96):
        with T.block("D"):
            va, vb, vc = T.axis.remap("SSS", [a, b, c])
            D[va, vb, vc] = E[va * 16 + vb, vc] * T.float32(2)


def loops_and_bindings(sch, block):
    """'ax0 2, ...: vi = ...; ...' of the loops below those that the block had before it moved."""
    realize = sch.state.mod["main"].body
    found = []

    def visit(node):
        if isinstance(node, tir.BlockRealize) and node.block.name_hint == block:
            found.append(node)

    tir.stmt_functor.post_order_visit(realize, visit)
    loops = [sch.get(loop) for loop in sch.get_loops(block)]
    inner = ", ".join(f"{loop.loop_var} {loop.extent}" for loop in loops if loop.loop_var.name.startswith("ax"))
    bindings = [f"{axis.var} = {value}" for axis, value in zip(found[0].block.iter_vars, found[0].iter_values)]
    return inner + ": " + "; ".join(bindings)


@pytest.mark.parametrize("layout, loop, expected", [
    (lambda i, j: [i // 8, j // 4, i % 8, j % 4], 1, ": vi = i; vj = j"),
    (lambda i, j: [i // 8, j // 4, i % 8, j % 4], 0, "ax0 64: vi = i; vj = ax0"),
    (lambda i, j: [i * 64 + j], 1, ": vi = i; vj = j"),
    (lambda i, j: [i * 64 + j], 0, "ax0 64: vi = i; vj = ax0"),
])
def test_compute_at_of_a_block_with_another_layout_computes_what_is_read(layout, loop, expected):
    sch = tir.Schedule(two)
    sch.transform_layout("E", ("write", 0), layout)
    sch.compute_at("E", sch.get_loops("D")[loop])
    assert loops_and_bindings(sch, "E") == expected


def test_reverse_compute_at_of_a_reader_that_joins_heads():
    sch = tir.Schedule(heads)
    h, j = sch.get_loops("E")[1:3]
    j0, _ = sch.split(j, [None, 16])
    sch.reverse_compute_at("D", j0)
    assert loops_and_bindings(sch, "D") == "ax0 16: vi = i; vj = h * 64 + j_0 * 16 + ax0"


@pytest.mark.parametrize("rows, expected", [
    (8, "ax0 8, ax1 32: va = i_0 // 2; vb = i_0 % 2 * 8 + ax0; vc = j_0 * 32 + ax1"),
    (16, "ax0 16, ax1 32: va = i_0; vb = ax0; vc = j_0 * 32 + ax1"),
    (32, "ax0 2, ax1 16, ax2 32: va = i_0 * 2 + ax0; vb = ax1; vc = j_0 * 32 + ax2"),
])
def test_reverse_compute_at_of_a_reader_that_splits_rows(rows, expected):
    sch = tir.Schedule(tokens)
    i, j = sch.get_loops("E")
    i0, i1 = sch.split(i, [None, rows])
    j0, j1 = sch.split(j, [None, 32])
    sch.reorder(i0, j0, i1, j1)
    sch.reverse_compute_at("D", j0)
    assert loops_and_bindings(sch, "D") == expected


def test_loops_of_one_iteration_that_are_kept_are_in_bindings_not_in_predicates():
    @T.prim_func
    def rows(A: T.Buffer((100,), "float32"), D: T.Buffer((100,), "float32")):
        E = T.alloc_buffer((100,))
        for i in range(100):
            with T.block("E"):
                vi = T.axis.spatial(100, i)
                E[vi] = A[vi] * T.float32(2)
        for i in range(100):
            with T.block("D"):
                vi = T.axis.spatial(100, i)
                D[vi] = E[vi]

    sch = tir.Schedule(rows)
    i0, i1 = sch.split(sch.get_loops("D")[0], [None, 8])
    sch.compute_at("E", i1, preserve_unit_loops=True)
    assert loops_and_bindings(sch, "E") == "ax0 1: vi = i_0 * 8 + i_1 + ax0"
    assert "T.where(i_0 * 8 + i_1 < 100)" in sch.mod["main"].script()
    assert "ax0 < 100" not in sch.mod["main"].script()


@T.prim_func
def guarded(A: T.Buffer((5, 6, 9), "float32"), B: T.Buffer((5, 6, 9), "float32")):
    for i, j, k in T.grid(5, 6, 9):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T.where(i * 54 + j * 9 + k < 200)
            B[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)


def test_fuse_divides_once_by_what_is_inside():
    sch = tir.Schedule(guarded)
    f = sch.fuse(*sch.get_loops("B"))
    assert sch.get(f).loop_var.name == "i_j_k_fused"
    assert "i_j_k_fused // 54 * 54 + i_j_k_fused % 54 // 9 * 9 + i_j_k_fused % 9 < 200" in sch.mod["main"].script()


@pytest.mark.parametrize("preserve", [True, False])
def test_fused_loops_of_one_iteration_are_left_out_of_bindings(preserve):
    @T.prim_func
    def unit(A: T.Buffer((1, 6, 1), "float32"), B: T.Buffer((1, 6, 1), "float32")):
        for i, j, k in T.grid(1, 6, 1):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)

    sch = tir.Schedule(unit)
    sch.fuse(sch.get_loops("B")[0], preserve_unit_iters=preserve)
    assert loops_and_bindings(sch, "B") == f": vi = 0; vj = j; vk = {'k' if preserve else '0'}"
    sch.fuse(*sch.get_loops("B"), preserve_unit_iters=preserve)
    assert loops_and_bindings(sch, "B") == ": vi = 0; vj = i_fused_j_k_fused; vk = 0"


def test_fuse_of_two_types_takes_the_wider_one_and_unit_loops_are_int32():
    @T.prim_func
    def mixed(A: T.Buffer((16, T.int64(32)), "float32"), B: T.Buffer((16, T.int64(32)), "float32")):
        for i in range(16):
            for j in range(T.int64(32)):
                with T.block("B"):
                    vi = T.axis.spatial(16, i)
                    vj = T.axis.spatial(T.int64(32), j)
                    B[vi, vj] = A[vi, vj] + T.float32(1)

    sch = tir.Schedule(mixed)
    unit = sch.add_unit_loop(sch.get_loops("B")[1])
    assert sch.get(unit).loop_var.dtype == "int32"
    fused = sch.fuse(*sch.get_loops("B"))
    assert sch.get(fused).loop_var.dtype == "int64"
    assert 'vi = T.axis.spatial(16, T.Cast("int32", i_u_j_fused // T.int64(32)))' in sch.mod["main"].script()


def test_tensorize_takes_blocks_with_annotations():
    @T.prim_func
    def products(X: T.Buffer((32, 64), "uint8"), W: T.Buffer((32, 64), "int8"), C: T.Buffer((32, 32), "int32")):
        for i, j, k in T.grid(32, 32, 64):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", X[vi, vk]) * T.Cast("int32", W[vj, vk])

    from tvm.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN

    sch = tir.Schedule(products)
    block = sch.get_block("C")
    sch.annotate(block, "meta_schedule.tiling_structure", "SSRSRS")
    i, j, k = sch.get_loops(block)
    jo, ji = sch.split(j, [None, 16])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(jo, ko, ji, ki)
    sch.decompose_reduction(block, ko)
    sch.tensorize(ji, VNNI_DOT_16x4_INTRIN)
    assert "vpdpbusd" in sch.mod["main"].script()
