"""InjectPermutedLayout and ManifestSharedMemoryLocalStage: what TVM 0.27 makes of the same programs."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class TestGroupsOfColumnsAreExchangedByTheirRow(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectPermutedLayout()

    def before(A: T.Buffer((1024, 1024), "float16"), C: T.Buffer((1024, 1024), "float16")):
        bx = T.launch_thread("blockIdx.x", 4)
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            with T.block("load"):
                T.block_attr({"permuted_layout": "g2s_A"})
                for i in range(4):
                    for v in T.vectorized(8):
                        S[i * 32 + ty * 8 + tx // 4, tx % 4 * 8 + v] = A[bx * 128 + i * 32 + ty * 8 + tx // 4, tx % 4 * 8 + v]
            with T.block("store"):
                T.block_attr({"permuted_layout": 1})
                C[bx * 32 + tx, 0] = S[tx, ty * 8]

    def expected(A: T.Buffer((1024, 1024), "float16"), C: T.Buffer((1024, 1024), "float16")):
        bx = T.launch_thread("blockIdx.x", 4)
        ty = T.launch_thread("threadIdx.y", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            with T.block("load"):
                T.reads(A[bx * 128 + ty * 8 + tx // 4:bx * 128 + ty * 8 + tx // 4 + 97, tx % 4 * 8:tx % 4 * 8 + 8])
                T.writes(S[ty * 8 + tx // 4:ty * 8 + tx // 4 + 97, tx % 4 * 8:tx % 4 * 8 + 8])
                for i in range(4):
                    for v in T.vectorized(8):
                        S[i * 32 + ty * 8 + tx // 4, T.bitwise_xor(tx % 4, tx // 4) * 8 + v] = A[bx * 128 + i * 32 + ty * 8 + tx // 4, tx % 4 * 8 + v]
            with T.block("store"):
                T.reads(S[tx, ty * 8])
                T.writes(C[bx * 32 + tx, 0])
                C[bx * 32 + tx, 0] = S[tx, T.bitwise_xor(ty, tx % 8) * 8]


class TestNarrowRowsAreExchangedInPairs(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectPermutedLayout()

    def before(A: T.Buffer((128, 32), "float16")):
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            T.block_attr({"permuted_layout": 1})
            S = T.alloc_buffer((128, 32), "float16", scope="shared.dyn")
            for v in T.vectorized(8):
                S[tx // 4, tx % 4 * 8 + v] = A[tx // 4, tx % 4 * 8 + v]

    def expected(A: T.Buffer((128, 32), "float16")):
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            T.reads(A[tx // 4, tx % 4 * 8:tx % 4 * 8 + 8])
            T.writes()
            S = T.alloc_buffer((128, 32), "float16", scope="shared.dyn")
            for v in T.vectorized(8):
                S[tx // 4, T.bitwise_xor(tx % 4, tx // 8) * 8 + v] = A[tx // 4, tx % 4 * 8 + v]


class TestTilesOfLdmatrixAreFoundByTheirOffset(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectPermutedLayout()

    def before():
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            T.reads()
            T.writes()
            T.block_attr({"permuted_layout": "s2l_A"})
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            W = T.alloc_buffer((8,), "float16", scope="local")
            T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", W.data, 0,
                           T.tvm_access_ptr(T.type_annotation("float16"), S.data, 1024, 1024, 1),
                           64 * (tx % 16) + 8 * (tx // 16))

    def expected():
        tx = T.launch_thread("threadIdx.x", 32)
        with T.block(""):
            T.reads()
            T.writes()
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            W = T.alloc_buffer((8,), "float16", scope="local")
            T.ptx_ldmatrix("float16", T.bool(False), 4, ".b16", W.data, 0,
                           T.tvm_access_ptr(T.type_annotation("float16"), S.data,
                                            tx % 16 * 64 + T.bitwise_xor(tx // 16, tx % 8) * 8 + 1024, 1024, 1), 0)


def permute(body):
    return tir.transform.InjectPermutedLayout()(tvm.IRModule({"main": body}))


def test_rows_that_have_no_such_groups_are_refused():
    @T.prim_func(private=True)
    def narrow(A: T.Buffer((128, 48), "float16")):
        with T.block(""):
            T.block_attr({"permuted_layout": 1})
            S = T.alloc_buffer((128, 48), "float16", scope="shared")
            S[0, 0] = A[0, 0]

    with pytest.raises(tvm.TVMError, match="multiples of 64 columns"):
        permute(narrow)


def test_memory_that_blocks_touch_both_ways_is_refused():
    @T.prim_func(private=True)
    def mixed(A: T.Buffer((128, 64), "float16"), C: T.Buffer((128, 64), "float16")):
        with T.block("root"):
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            with T.block("load"):
                T.block_attr({"permuted_layout": 1})
                S[0, 0] = A[0, 0]
            with T.block("store"):
                C[0, 0] = S[0, 0]

    with pytest.raises(tvm.TVMError, match="blocks without the annotation touch it as well"):
        permute(mixed)


def test_zero_and_no_text_are_off():
    @T.prim_func(private=True)
    def off(A: T.Buffer((128, 64), "float16")):
        with T.block("root"):
            S = T.alloc_buffer((128, 64), "float16", scope="shared")
            with T.block("a"):
                T.block_attr({"permuted_layout": 0})
                S[1, 0] = A[0, 0]
            with T.block("b"):
                T.block_attr({"permuted_layout": ""})
                S[1, 0] = A[0, 0]

    tvm.ir.assert_structural_equal(permute(off)["main"], off)


class TestCopiesGoThroughMemoryOfTheThread(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.ManifestSharedMemoryLocalStage()

    def before(A: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
        for bx in T.thread_binding(32, "blockIdx.x"):
            for tx in T.thread_binding(32, "threadIdx.x"):
                for ko in range(32):
                    with T.block("tile"):
                        T.reads(A[bx * 32:bx * 32 + 32, ko * 32:ko * 32 + 32])
                        T.writes(C[bx * 32 + tx, bx])
                        S = T.alloc_buffer((1024, 1024), scope="shared")
                        for i in range(8):
                            for v in T.vectorized(4):
                                with T.block("S"):
                                    T.where(tx < 30)
                                    T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                                    T.reads(A[bx * 32 + tx, ko * 32 + i * 4 + v])
                                    T.writes(S[bx * 32 + tx, ko * 32 + i * 4 + v])
                                    S[bx * 32 + tx, ko * 32 + i * 4 + v] = A[bx * 32 + tx, ko * 32 + i * 4 + v]
                        for k in range(32):
                            C[bx * 32 + tx, bx] = C[bx * 32 + tx, bx] + S[bx * 32 + tx, ko * 32 + k]

    def expected(A: T.Buffer((1024, 1024), "float32"), C: T.Buffer((1024, 1024), "float32")):
        for bx in T.thread_binding(32, "blockIdx.x"):
            for tx in T.thread_binding(32, "threadIdx.x"):
                for ko in range(32):
                    with T.block("tile"):
                        T.reads(A[bx * 32:bx * 32 + 32, ko * 32:ko * 32 + 32])
                        T.writes(C[bx * 32 + tx, bx])
                        S = T.alloc_buffer((1024, 1024), scope="shared")
                        S_local = T.alloc_buffer((8, 4), scope="local")
                        for i in range(8):
                            for v in T.vectorized(4):
                                with T.block(""):
                                    T.where(tx < 30)
                                    T.reads(A[bx * 32 + tx, ko * 32 + i * 4 + v])
                                    T.writes(S_local[i, v])
                                    S_local[i, v] = A[bx * 32 + tx, ko * 32 + i * 4 + v]
                        for i in range(8):
                            for v in T.vectorized(4):
                                with T.block("S"):
                                    T.where(tx < 30)
                                    T.reads(A[bx * 32 + tx, ko * 32 + i * 4 + v])
                                    T.writes(S[bx * 32 + tx, ko * 32 + i * 4 + v])
                                    S[bx * 32 + tx, ko * 32 + i * 4 + v] = S_local[i, v]
                        for k in range(32):
                            C[bx * 32 + tx, bx] = C[bx * 32 + tx, bx] + S[bx * 32 + tx, ko * 32 + k]


class TestACopyWithoutLoopsHasOneElement(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.ManifestSharedMemoryLocalStage()

    def before(A: T.Buffer((16, 16), "float32")):
        with T.block("root"):
            S = T.alloc_buffer((16, 16), scope="shared")
            with T.block("S"):
                T.block_attr({"tir.manifest_shared_memory_local_stage": 1, "keeps": 2})
                S[0, 0] = A[1, 1]

    def expected(A: T.Buffer((16, 16), "float32")):
        with T.block("root"):
            S = T.alloc_buffer((16, 16), scope="shared")
            S_local = T.alloc_buffer((), scope="local")
            with T.block(""):
                T.reads(A[1, 1])
                T.writes(S_local[()])
                S_local[()] = A[1, 1]
            with T.block("S"):
                T.reads(A[1, 1])
                T.writes(S[0, 0])
                T.block_attr({"keeps": 2})
                S[0, 0] = S_local[()]


def manifest(func):
    return tir.transform.ManifestSharedMemoryLocalStage()(tvm.IRModule({"main": func}))


def test_copies_that_cannot_be_taken_apart_are_refused():
    @T.prim_func(private=True)
    def shared_loop(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        with T.block("root"):
            S = T.alloc_buffer((16, 16), scope="shared")
            for i in range(16):
                for j in range(16):
                    with T.block("S"):
                        T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                        S[i, j] = A[i, j]
                C[i, 0] = S[i, 0]

    @T.prim_func(private=True)
    def threads(A: T.Buffer((16, 16), "float32")):
        with T.block("root"):
            S = T.alloc_buffer((16, 16), scope="shared")
            for i in T.thread_binding(16, "threadIdx.x"):
                with T.block("S"):
                    T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
                    S[i, 0] = A[i, 0]

    @T.prim_func(private=True)
    def not_shared(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        with T.block("C"):
            T.block_attr({"tir.manifest_shared_memory_local_stage": 1})
            C[0, 0] = A[0, 0]

    for func, message in ((shared_loop, "holds other statements"), (threads, "neither serial nor vectorized"),
                          (not_shared, "not one store to shared memory")):
        with pytest.raises(tvm.TVMError, match=message):
            manifest(func)


def test_fragments_are_what_their_calls_say():
    @T.prim_func(private=True)
    def func(A: T.Buffer((256,), "float16")):
        F = T.decl_buffer((256,), "float16", scope="wmma.matrix_a")
        G = T.decl_buffer((256,), "float32", scope="wmma.accumulator")
        T.tvm_fill_fragment(G.data, 16, 16, 16, 0, T.float32(0))
        T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, A.data, 16, "row_major")
        T.tvm_mma_sync(G.data, 0, F.data, 0, F.data, 0, G.data, 0)

    attrs = []
    body = tir.transform.InferFragment()(tvm.IRModule({"main": func}))["main"].body
    tir.stmt_functor.post_order_visit(body, lambda node: isinstance(node, tir.AttrStmt) and attrs.append(
        (node.node.name, node.attr_key, node.value.value)))
    assert attrs == [("G", "fragment_shape", "16, 16, 16"), ("F", "fragment_shape", "16, 16, 16"),
                     ("F", "fragment_layout", "row_major")]


@pytest.mark.parametrize("second, message", [
    ('T.tvm_load_matrix_sync(F.data, 8, 32, 16, 0, A.data, 16, "row_major")', "several shapes"),
    ('T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, A.data, 16, "col_major")', "several layouts"),
    ('T.tvm_fill_fragment(G.data, 8, 32, 16, 0, T.float32(0))', "another shape"),
])
def test_fragments_of_which_calls_say_different_things_are_refused(second, message):
    func = tvm.script.from_source(f'''
@T.prim_func(private=True)
def main(A: T.Buffer((256,), "float16")):
    F = T.decl_buffer((256,), "float16", scope="wmma.matrix_a")
    G = T.decl_buffer((256,), "float32", scope="wmma.accumulator")
    T.tvm_load_matrix_sync(F.data, 16, 16, 16, 0, A.data, 16, "row_major")
    {second}
    T.tvm_mma_sync(G.data, 0, F.data, 0, F.data, 0, G.data, 0)
''')
    with pytest.raises(tvm.TVMError, match=message):
        tir.transform.InferFragment()(tvm.IRModule({"main": func}))
