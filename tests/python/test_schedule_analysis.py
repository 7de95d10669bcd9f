"""What rules ask of blocks: names, outputs, loops of an intrinsic, layouts."""
import pytest
import tvm
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.schedule import analysis
from tvm.tir.schedule.transform import tile_with_tensor_intrin


@T.prim_func
def mma_desc(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16"), C: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


@T.prim_func
def mma_impl(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16"), C: T.Buffer((16, 16), "float32")):
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.evaluate(0)


tir.TensorIntrin.register("analysis_mma", mma_desc, mma_impl, override=True)


def matmul_and_add(m, n, k):
    a, b = te.placeholder((m, k), "float16", "A"), te.placeholder((k, n), "float16", "B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), r), "C")
    return tir.Schedule(te.create_prim_func([a, b, te.compute((m, n), lambda i, j: c[i, j] + 1.0, "D")]))


def names_of_loops(sch, block):
    return [sch.get(loop).loop_var.name for loop in sch.get_loops(block)]


def test_blocks_are_found_and_outputs_known():
    sch = matmul_and_add(64, 64, 64)
    assert analysis.has_block(sch, "C") and analysis.has_block(sch, "root") and not analysis.has_block(sch, "E")
    assert not analysis.is_output_block(sch, sch.get_block("C")) and analysis.is_output_block(sch, sch.get_block("D"))


def test_loops_of_an_intrinsic_are_found():
    sch = matmul_and_add(64, 64, 64)
    info = analysis.get_tensorize_loop_mapping(sch, sch.get_block("C"), mma_desc)
    pairs = {sref.stmt.loop_var.name: desc.loop_var.name for sref, desc in info.loop_map.items()}
    assert pairs == {"i": "i", "j": "j", "k": "k"} and info.block_iter_paddings is None
    assert [loop.loop_var.name for loop, _ in sorted(info.desc_loop_indexer.items(), key=lambda each: each[1])] == list("ijk")


def test_extents_that_do_not_fit_need_padding():
    sch = matmul_and_add(60, 64, 60)
    block = sch.get_block("C")
    assert analysis.get_tensorize_loop_mapping(sch, block, mma_desc) is None
    assert analysis.get_tensorize_loop_mapping(sch, block, mma_desc, True).block_iter_paddings == [16, 1, 16]


@pytest.mark.parametrize("order", [None, [2, 0, 1]])
def test_loops_are_tiled_for_an_intrinsic(order):
    sch = matmul_and_add(64, 64, 64)
    block = sch.get_block("C")
    if order:
        sch.reorder(*(sch.get_loops(block)[i] for i in order))
    first = tile_with_tensor_intrin(sch, block, "analysis_mma")
    assert names_of_loops(sch, block)[3:] == ["i_1", "j_1", "k_1"] and sch.get(first).loop_var.name == "i_1"
    sch.decompose_reduction(block, sch.get_loops(block)[0])
    sch.tensorize(first, "analysis_mma")


def test_tiling_pads_where_that_is_allowed():
    sch = matmul_and_add(60, 64, 60)
    block = sch.get_block("C")
    assert tile_with_tensor_intrin(sch, block, "analysis_mma") is None
    tile_with_tensor_intrin(sch, block, "analysis_mma", allow_padding=True)
    assert [int(sch.get(loop).extent) for loop in sch.get_loops(block)] == [4, 4, 4, 16, 16, 16]
    assert analysis.has_block(sch, "A_pad") and not analysis.has_block(sch, "C_pad")


@pytest.mark.parametrize("shape, access, extents, expected, inverse", [
    ((128, 128), lambda i, j, k: [i * 32 + k, j], [4, 128, 32], "(i0 // 32, i1, i0 % 32)", "(i0 * 32 + i2, i1)"),
    ((64, 64), lambda a, b, c, d: [a * 16 + c, b * 8 + d], [4, 8, 16, 8], "(i0 // 16, i1 // 8, i0 % 16, i1 % 8)",
     "(i0 * 16 + i2, i1 * 8 + i3)"),
    ((64,), lambda a: [a // 8 + a % 8 * 8], [64], "(i0 % 8, i0 // 8)", "(i1 * 8 + i0,)"),
])
def test_a_layout_in_the_order_of_the_loops_is_suggested(shape, access, extents, expected, inverse):
    variables = [tir.Var(f"v{i}", "int32") for i in range(len(extents))]
    loops = [tir.For(var, 0, extent, tir.ForKind.SERIAL, tir.Evaluate(0)) for var, extent in zip(variables, extents)]
    buffer = tir.decl_buffer(shape, "float32")
    index_map = analysis.suggest_index_map(buffer, access(*variables), loops, tir.const(True, "bool"))
    assert expected in str(index_map) and inverse in str(index_map.inverse(shape))


def test_no_layout_is_suggested_for_what_is_no_map():
    variables = [tir.Var("a", "int32"), tir.Var("b", "int32")]
    loops = [tir.For(var, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(0)) for var in variables]
    product = [variables[0] * variables[1]]
    assert analysis.suggest_index_map(tir.decl_buffer((64,)), product, loops, tir.const(True, "bool")) is None
