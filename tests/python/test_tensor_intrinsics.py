"""Tensor intrinsics of GPUs: their names, what they say, and programs that use them, as TVM 0.27 has them."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T
from tvm.tir.tensor_intrin import cuda


@T.prim_func
def matmul(A: T.Buffer((32, 32), "float16"), B: T.Buffer((32, 32), "float16"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0.0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")


def tiled(sch):
    """Block "C" in tiles of 16, one per block of threads; its outer reduction loop and the first one of a tile."""
    block = sch.get_block("C")
    (i0, i1), (j0, j1), (k0, k1) = [sch.split(loop, factors=[None, 16]) for loop in sch.get_loops(block)]
    sch.reorder(i0, j0, k0, i1, j1, k1)
    sch.bind(i0, "blockIdx.x")
    sch.bind(j0, "blockIdx.y")
    return block, j0, k0, i1


def staged(sch, block, index, scope, loop):
    """A copy of what the block reads by way of shared memory, filled by 32 threads; the block of the second copy."""
    shared = sch.cache_read(block, index, "shared")
    copy = sch.cache_read(block, index, scope)
    sch.compute_at(copy, loop)
    sch.compute_at(shared, loop)
    _, tx = sch.split(sch.fuse(*sch.get_loops(shared)[-2:]), factors=[None, 32])
    sch.bind(tx, "threadIdx.x")
    return copy


def calls_of(func, name):
    calls = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda node: calls.append(node) if isinstance(node, tir.Call) and node.op.name == "tir." + name else None)
    return calls


def test_a_product_by_wmma():
    sch = tir.Schedule(matmul)
    group = cuda.get_wmma_intrin_group("shared", "global", "float16", "float32", False)
    block, j0, k0, i1 = tiled(sch)
    tile = sch.blockize(i1)
    store = sch.cache_write(tile, 0, "wmma.accumulator")
    sch.reverse_compute_at(store, j0)
    loads = [staged(sch, tile, index, scope, k0) for index, scope in enumerate(("wmma.matrix_a", "wmma.matrix_b"))]
    sch.tensorize(sch.decompose_reduction(tile, k0), group["init"])
    for load, name in zip(loads, ("load_a", "load_b")):
        sch.tensorize(sch.get_loops(load)[-2], group[name])
    sch.tensorize(tile, group["compute"])
    sch.tensorize(sch.get_loops(store)[-2], group["store"])
    func = sch.mod["main"]
    for name, count in (("tvm_fill_fragment", 1), ("tvm_load_matrix_sync", 2), ("tvm_mma_sync", 1),
                        ("tvm_store_matrix_sync", 1)):
        assert len(calls_of(func, name)) == count
    fill, = calls_of(func, "tvm_fill_fragment")
    assert [int(arg) for arg in fill.args[1:4]] == [16, 16, 16]
    assert sch.get_block("C_o_update") and sch.get_block("A_shared_wmma.matrix_a_o")


def test_a_product_by_mma():
    def lanes(i, j):
        lane, register = cuda.shared_16x16_to_ldmatrix_32x8_layout(i % 16, j % 16)
        return i // 16, j // 16, lane, register

    sch = tir.Schedule(matmul)
    block, j0, k0, i1 = tiled(sch)
    store = sch.cache_write(block, 0, "warp")
    sch.reverse_compute_at(store, j0)
    loads = [staged(sch, block, index, "warp", k0) for index in range(2)]
    for load in loads:
        sch.transform_layout(load, ("write", 0), lanes)
    sch.transform_layout(store, ("read", 0), lanes)
    init = sch.decompose_reduction(block, k0)
    sch.tensorize(sch.get_loops(init)[-2], cuda.MMA_fill_16x16_f32_INTRIN)
    sch.tensorize(sch.get_loops(loads[0])[-2], cuda.LDMATRIX_f16_A_INTRIN)
    sch.tensorize(sch.get_loops(loads[1])[-2], cuda.LDMATRIX_f16_B_INTRIN)
    sch.tensorize(i1, cuda.MMA_f16f16f32_INTRIN)
    sch.tensorize(sch.get_loops(store)[-2], cuda.MMA_store_16x16_f32_global_INTRIN)
    func = sch.mod["main"]
    for name, count in (("mma_fill", 1), ("ptx_ldmatrix", 2), ("ptx_mma", 2), ("mma_store", 1)):
        assert len(calls_of(func, name)) == count


def test_every_name_is_an_intrinsic():
    names = {value for name, value in vars(cuda).items() if name.endswith(("_INTRIN", "_INTRIN_SIMPLE"))}
    assert len(names) > 90
    for name in names:
        assert len(tir.TensorIntrin.get(name).desc.params) == len(tir.TensorIntrin.get(name).impl.params)
    with pytest.raises(ValueError, match="is not registered"):
        tir.TensorIntrin.get("wmma_sync_16x16x16_f64f64f64")


def test_groups_and_layouts():
    assert cuda.get_wmma_intrin_group("shared.dyn", "shared.dyn", "int8", "int32", True) == {
        "init": cuda.WMMA_FILL_16x16x16_S32_INTRIN,
        "load_a": cuda.WMMA_LOAD_16x16x16_S8_A_DYN_INTRIN,
        "load_b": cuda.WMMA_LOAD_16x16x16_S8_B_TRANS_DYN_INTRIN,
        "compute": cuda.WMMA_SYNC_16x16x16_s8s8s32_TRANS_INTRIN,
        "store": cuda.WMMA_STORE_16x16x16_S32_SHARED_DYN_INTRIN,
    }
    assert cuda.get_mma_intrin_group("shared.dyn", "global", "float16", "float32", False, True, False) == {
        "init": "mma_fill_16x16_f32", "load_a": "mma_ldmatrix_f16_a_dyn", "load_b": "mma_ldmatrix_f16_b_trans_dyn",
        "compute": "mma_f16f16f32_trans_b", "store": "mma_store_16x16_f32_global_",
    }
    assert cuda.shared_16x16_to_ldmatrix_32x8_layout(3, 5) == (14, 1)
    assert cuda.ldmatrix_32x8_to_shared_16x16_layout(14, 1) == (3, 5)
    assert cuda.shared_32x16_to_ldmatrix_32x16_layout(5, 9) == (5, 9)
    desc, impl = cuda.get_wmma_sync_intrin(16, 16, 16, "float16", "float32", True)
    tvm.ir.assert_structural_equal(desc, tir.TensorIntrin.get("wmma_sync_16x16x16_f16f16f32_trans").desc)
    assert calls_of(impl, "tvm_mma_sync")


@pytest.mark.parametrize("arguments", [
    ("global", "global", "float16", "float16"), ("shared", "local", "float16", "float16"),
    ("shared", "global", "float32", "float16"), ("shared", "global", "float16", "float64"),
    ("shared", "global", "int8", "int8")])
def test_groups_are_of_types_and_scopes_that_are_there(arguments):
    with pytest.raises(AssertionError):
        cuda.get_mma_intrin_group(*arguments, False, True)
    assert cuda.get_mma_intrin_group("shared", "shared", "int8", "int32", False, True)["load_a"] == "mma_ldmatrix_i8_a"


if __name__ == "__main__":
    tvm.testing.main()
