"""Passes for code of GPUs by TVM's names: what TVM 0.27 makes of the same programs."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


def module_of(func):
    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


class TestCopiesBecomeAsynchronous(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectPTXAsyncCopy()

    def before(A: T.Buffer((128,), "float32"), H: T.Buffer((128,), "float16")):
        tx = T.launch_thread("threadIdx.x", 16)
        S = T.decl_buffer((128,), "float32", scope="shared")
        Q = T.decl_buffer((128,), "float16", scope="shared.dyn")
        with T.attr(0, "async_scope", 1):
            S[tx] = A[tx * 2]
            S[T.Ramp(tx * 4, 1, 4)] = A[T.Ramp(tx * 4, 1, 4)]
            Q[T.Ramp(tx * 8, 1, 8)] = H[T.Ramp(tx * 8, 1, 8)]
            Q[tx] = H[tx]
            S[tx] = T.if_then_else(tx < 3, A[tx], T.float32(0))
            S[tx] = T.if_then_else(tx < 3, A[tx], T.float32(1))
            S[tx] = A[tx] + T.float32(1)
        S[tx] = A[tx]

    def expected(A: T.Buffer((128,), "float32"), H: T.Buffer((128,), "float16")):
        tx = T.launch_thread("threadIdx.x", 16)
        S = T.decl_buffer((128,), "float32", scope="shared")
        Q = T.decl_buffer((128,), "float16", scope="shared.dyn")
        T.ptx_cp_async("float32", S.data, tx, A.data, tx * 2, 4)
        T.ptx_cp_async("float32", S.data, tx * 4, A.data, tx * 4, 16)
        T.ptx_cp_async("float16", Q.data, tx * 8, H.data, tx * 8, 16)
        Q[tx] = H[tx]
        T.ptx_cp_async("float32", S.data, tx, A.data, tx, 4, tx < 3)
        S[tx] = T.if_then_else(tx < 3, A[tx], T.float32(1))
        S[tx] = A[tx] + T.float32(1)
        S[tx] = A[tx]


def test_strided_lanes_are_no_copy_of_neighbours():
    @T.prim_func
    def func(A: T.Buffer((128,), "float16")):
        S = T.decl_buffer((128,), "float16", scope="shared")
        with T.attr(0, "async_scope", 1):
            S[T.Ramp(0, 2, 2)] = A[T.Ramp(0, 2, 2)]

    assert "ptx_cp_async" not in tir.transform.InjectPTXAsyncCopy()(module_of(func)).script()


@T.prim_func
def fills(A: T.Buffer((400,), "float32"), C: T.Buffer((4,), "float32")):
    for i in range(100):
        B = T.decl_buffer((4,), "float32", scope="shared")
        with T.attr(B.data, "double_buffer_scope", 1):
            for j in range(4):
                B[j] = A[i * 4 + j]
        for j in range(4):
            C[j] = B[j] + T.float32(1)


@T.prim_func
def whole(A: T.Buffer((400,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.decl_buffer((8,), "float32", scope="shared")
    for j in range(4):
        B[T.Mul(0, 4) + j] = A[T.Mul(0, 4) + j]
    for i in range(100):
        if i + 1 < 100:
            T.attr(B.data, "double_buffer_write", 1)
            for j in range(4):
                B[(i + 1) % 2 * 4 + j] = A[(i + 1) * 4 + j]
        for j in range(4):
            C[j] = B[i % 2 * 4 + j] + T.float32(1)


@T.prim_func
def split(A: T.Buffer((400,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.decl_buffer((8,), "float32", scope="shared")
    for j in range(4):
        B[T.Mul(0, 4) + j] = A[T.Mul(0, 4) + j]
    for i in range(99):
        if i + 1 < 100:
            T.attr(B.data, "double_buffer_write", 1)
            for j in range(4):
                B[(i + 1) % 2 * 4 + j] = A[(i + 1) * 4 + j]
        for j in range(4):
            C[j] = B[i % 2 * 4 + j] + T.float32(1)
    if T.bool(True):
        if T.Add(99, 1) < 100:
            for j in range(4):
                B[T.Add(99, 1) % 2 * 4 + j] = A[T.Add(99, 1) * 4 + j]
        for j in range(4):
            C[j] = B[T.FloorMod(99, 2) * 4 + j] + T.float32(1)


@pytest.mark.parametrize("config, expected", [({}, split), ({"split_loop": 1}, split), ({"split_loop": 0}, whole)])
def test_a_loop_fills_the_other_half_for_its_next_turn(config, expected):
    with tvm.transform.PassContext(config={"tir.InjectDoubleBuffer": config}):
        after = tir.transform.InjectDoubleBuffer()(module_of(fills))
    tvm.ir.assert_structural_equal(after["main"], expected.with_attr("global_symbol", "main"))


def test_several_turns_at_once_compute_the_same():
    numpy = pytest.importorskip("numpy")
    data = numpy.arange(400, dtype="float32")
    for split_loop in (0, 1, 2, 4):
        with tvm.transform.PassContext(config={"tir.InjectDoubleBuffer": {"split_loop": split_loop}}):
            after = tir.transform.InjectDoubleBuffer()(module_of(fills))
        text = after["main"].script().replace(', "shared"', ', "global"').replace(', scope="shared"', "")
        text = "\n".join(line for line in text.splitlines() if "double_buffer_write" not in line)
        run = tvm.build(tvm.script.from_source(text), target="llvm")
        result = tvm.nd.empty((4,))
        run(tvm.nd.array(data), result)
        assert result.numpy().tolist() == [397.0, 398.0, 399.0, 400.0]


def test_memory_that_is_named_elsewhere_stays_single():
    @T.prim_func
    def func(A: T.Buffer((400,), "float32")):
        for i in range(100):
            B = T.decl_buffer((4,), "float32", scope="shared")
            with T.attr(B.data, "double_buffer_scope", 1):
                B[0] = A[i]
            T.evaluate(T.call_extern("int32", "use", B.data))

    mod = module_of(func)
    tvm.ir.assert_structural_equal(tir.transform.InjectDoubleBuffer()(mod), mod)


def test_a_double_buffer_needs_a_loop_around():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        B = T.decl_buffer((4,), "float32", scope="shared")
        with T.attr(B.data, "double_buffer_scope", 1):
            B[0] = A[0]
        A[1] = B[0]

    with pytest.raises(tvm.TVMError, match="must be inside of a loop"):
        tir.transform.InjectDoubleBuffer()(module_of(func))


class TestAllIsOnTheDevice(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.DecorateDeviceScope()

    def before(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    def expected(A: T.Buffer((4,), "float32")):
        T.attr(0, "device_scope", 0)
        A[0] = T.float32(1)


class TestThreadsWaitForEachOther(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.ThreadSync("shared")

    def before(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32"), n: T.int32):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.decl_buffer((128,), "float32", scope="shared")
        C = T.decl_buffer((128,), "float32", scope="shared.dyn")
        L = T.decl_buffer((4,), "float32", scope="local")
        for i in range(10):
            B[tx] = A[tx + i]
            O[tx] = B[tx]
            for j in range(4):
                L[j] = B[(tx + j) % 128]
            O[tx] = L[0]
        if n > 3:
            O[tx] = B[0]
        else:
            B[0] = O[tx]
        O[tx] = B[0]
        C[tx] = A[tx]
        O[tx] = C[127 - tx]

    def expected(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32"), n: T.int32):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.decl_buffer((128,), "float32", scope="shared")
        C = T.decl_buffer((128,), "float32", scope="shared.dyn")
        L = T.decl_buffer((4,), "float32", scope="local")
        for i in range(10):
            T.tvm_storage_sync("shared")
            B[tx] = A[tx + i]
            O[tx] = B[tx]
            T.tvm_storage_sync("shared")
            for j in range(4):
                L[j] = B[(tx + j) % 128]
            O[tx] = L[0]
        T.tvm_storage_sync("shared")
        if n > 3:
            O[tx] = B[0]
        else:
            B[0] = O[tx]
        T.tvm_storage_sync("shared")
        O[tx] = B[0]
        C[tx] = A[tx]
        O[tx] = C[127 - tx]


class TestBarriersThatAreThereCount(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.ThreadSync("shared")

    def before(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32")):
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.decl_buffer((256,), "float32", scope="shared")
        B[tx] = A[tx]
        T.tvm_storage_sync("shared")
        O[tx] = B[127 - tx]
        for i in range(10):
            with T.attr(B.data, "double_buffer_write", 1):
                B[(i + 1) % 2 * 128 + tx] = A[tx + i]
            O[tx] = B[i % 2 * 128 + 127 - tx]
        with T.attr(0, "async_wait_queue_scope", 0):
            T.attr(0, "async_wait_inflight_count", 1)
            O[tx] = A[tx]

    def expected(A: T.Buffer((512,), "float32"), O: T.Buffer((512,), "float32")):
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.decl_buffer((256,), "float32", scope="shared")
        B[tx] = A[tx]
        T.tvm_storage_sync("shared")
        O[tx] = B[127 - tx]
        for i in range(10):
            T.tvm_storage_sync("shared")
            with T.attr(B.data, "double_buffer_write", 1):
                B[(i + 1) % 2 * 128 + tx] = A[tx + i]
            O[tx] = B[i % 2 * 128 + 127 - tx]
        with T.attr(0, "async_wait_queue_scope", 0):
            T.attr(0, "async_wait_inflight_count", 1)
            T.tvm_storage_sync("shared")
            O[tx] = A[tx]


def test_barriers_stand_where_all_threads_come():
    @T.prim_func
    def func(A: T.Buffer((512,), "float32")):
        tx = T.launch_thread("threadIdx.x", 128)
        B = T.decl_buffer((128,), "float32", scope="shared")
        if tx < 64:
            B[tx] = A[tx]
            A[tx] = B[63 - tx]

    with pytest.raises(tvm.TVMError, match="Cannot insert syncs inside condition"):
        tir.transform.ThreadSync("shared")(module_of(func))
    with pytest.raises(tvm.TVMError, match="global"):
        tir.transform.ThreadSync("global")(module_of(func))


def test_memory_of_threads_together_holds_what_all_of_them_touch():
    @T.prim_func
    def func(A: T.Buffer((128, 64), "float32"), C: T.Buffer((128, 64), "float32")):
        for bx in T.thread_binding(8, thread="blockIdx.x"):
            for ty in T.thread_binding(16, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    for k in range(4):
                        with T.block("x"):
                            T.reads(A[bx * 16 + ty, k * 16 + tx])
                            T.writes(C[bx * 16 + ty, k * 16 + tx])
                            S = T.alloc_buffer((128, 64), "float32", scope="shared")
                            L = T.alloc_buffer((128, 64), "float32", scope="local")
                            W = T.alloc_buffer((128, 64), "float32", scope="warp")
                            G = T.alloc_buffer((128, 64), "float32")
                            S[bx * 16 + ty, k * 16 + tx] = A[bx * 16 + ty, k * 16 + tx]
                            L[bx * 16 + ty, k * 16 + tx] = S[bx * 16 + ty, k * 16 + tx]
                            W[bx * 16 + ty, k * 16 + tx] = L[bx * 16 + ty, k * 16 + tx]
                            G[bx * 16 + ty, k * 16 + tx] = W[bx * 16 + ty, k * 16 + tx]
                            C[bx * 16 + ty, k * 16 + tx] = G[bx * 16 + ty, k * 16 + tx]

    text = tir.transform.CompactBufferAllocation()(module_of(func)).script()
    for line in ('S = T.alloc_buffer((16, 16), scope="shared")', 'L = T.alloc_buffer((1, 1), scope="local")',
                 'W = T.alloc_buffer((1, 16), scope="warp")', "G = T.alloc_buffer((128, 16))"):
        assert line in text


if __name__ == "__main__":
    tvm.testing.main()
