"""LowerWarpMemory: what TVM 0.27 makes of the same programs, and what is refused."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class _OnCuda(tvm.testing.CompareBeforeAfter):
    transform = tvm.transform.Sequential(
        [tir.transform.BindTarget(tvm.target.Target("cuda -arch=sm_80")), tir.transform.LowerWarpMemory(),
         tir.transform.Apply(lambda func: func.without_attr("target"))])


class TestOtherThreadsAreReadByShuffles(_OnCuda):
    def before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((32,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx] = A[tx]
        B[tx] = W[(tx + 1) % 32] + T.float32(1)

    def expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((1,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", 32)
        W[0] = A[tx]
        B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], (tx + 1) % 32, 32, 32) + T.float32(1)


class TestRowsOfThreadsAreElements(_OnCuda):
    def before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((64,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx] = A[tx]
        W[tx + 32] = A[tx]
        B[tx] = W[31 - tx] + W[tx + 32]

    def expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((2,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", 32)
        W[0] = A[tx]
        W[1] = A[tx]
        B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], 31 - tx, 32, 32) + W[1]


class TestPartsOfAWarpShuffleAmongThemselves(_OnCuda):
    def before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((16,), "float32", scope="warp")
        ty = T.launch_thread("threadIdx.y", 2)
        tx = T.launch_thread("threadIdx.x", 16)
        W[tx] = A[tx + ty * 16]
        B[tx + ty * 16] = W[(tx + 1) % 16] + T.float32(1)

    def expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((1,), "float32", scope="local")
        ty = T.launch_thread("threadIdx.y", 2)
        tx = T.launch_thread("threadIdx.x", 16)
        W[0] = A[tx + ty * 16]
        B[tx + ty * 16] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], (tx + 1) % 16, 16, 32) + T.float32(1)


class TestElementsOfAThreadMayLieSideBySide(_OnCuda):
    def before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        W = T.decl_buffer((64,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        for i in range(2):
            W[tx * 2 + i] = A[tx * 2 + i]
        for i in range(2):
            B[tx * 2 + i] = W[(31 - tx) * 2 + i]

    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        W = T.decl_buffer((2,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", 32)
        for i in range(2):
            W[i] = A[tx * 2 + i]
        for i in range(2):
            B[tx * 2 + i] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[i], 31 - tx, 32, 32)


class TestStoresMayBeLeftOutByConditions(_OnCuda):
    def before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((32,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        if tx < 16:
            W[tx] = A[tx]
        B[tx] = W[tx % 16]

    def expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((1,), "float32", scope="local")
        tx = T.launch_thread("threadIdx.x", 32)
        if tx < 16:
            W[0] = A[tx]
        B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), W[0], tx % 16, 32, 32)


def lower(func, target="cuda -arch=sm_80"):
    module = tir.transform.BindTarget(tvm.target.Target(target))(tvm.IRModule({"main": func}))
    return tir.transform.LowerWarpMemory()(module)["main"]


def test_a_warp_has_as_many_threads_as_the_target_says():
    @T.prim_func(private=True)
    def func(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        W = T.decl_buffer((64,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 64)
        W[tx] = A[tx]
        B[tx] = W[63 - tx]

    assert "63 - tx, 64, 64)" in lower(func, "rocm").script()
    with pytest.raises(tvm.TVMError, match="64 threads, which does not divide a warp of 32"):
        lower(func)
    with pytest.raises(tvm.TVMError, match="Require the target attribute"):
        tir.transform.LowerWarpMemory()(tvm.IRModule({"main": func}))


def test_what_shuffles_cannot_say_is_refused():
    @T.prim_func(private=True)
    def interleaved(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((64,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx * 2] = A[tx]
        W[tx * 2 + 1] = A[tx]
        B[tx] = W[63 - tx * 2] + W[tx + 32]

    @T.prim_func(private=True)
    def others(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((64,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx + 1] = A[tx]
        B[tx] = W[tx]

    with pytest.raises(tvm.TVMError, match="depends on the thread"):
        lower(interleaved)
    with pytest.raises(tvm.TVMError, match="a thread stores what another has"):
        lower(others)


def test_threads_that_a_condition_leaves_out_are_not_read_from():
    @T.prim_func(private=True)
    def branch(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((32,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx] = A[tx]
        if tx < 16:
            B[tx] = W[tx + 16]

    @T.prim_func(private=True)
    def loop(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((32,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx] = A[tx]
        for i in range(tx):
            B[tx] = W[i]

    @T.prim_func(private=True)
    def within(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        W = T.decl_buffer((32,), "float32", scope="warp")
        tx = T.launch_thread("threadIdx.x", 32)
        W[tx] = A[tx]
        if tx < 16:
            B[tx] = W[15 - tx]

    for func in (branch, loop):
        with pytest.raises(tvm.TVMError, match="a thread that a condition leaves out"):
            lower(func)
    assert "tvm_warp_shuffle" in lower(within).script()
