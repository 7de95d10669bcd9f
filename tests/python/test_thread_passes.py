"""Passes about threads, profiles and memory by TVM's names: what TVM 0.27 makes of the same programs."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class TestThreadsOfOneAxisAreOne(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.UnifyThreadBinding()

    def before(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            C = T.decl_buffer((64,), scope="shared")
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                C[tx] = A[bx * 64 + tx]
            for ty in T.thread_binding(32, thread="threadIdx.x"):
                for j in range(2):
                    for v in T.thread_binding(2, thread="vthread.x"):
                        B[bx * 64 + ty * 2 + j] = C[ty] + T.Cast("float32", v)

    def expected(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
        for blockIdx_x in T.thread_binding(4, thread="blockIdx.x"):
            for threadIdx_x in T.thread_binding(32, thread="threadIdx.x"):
                for vthread_x in T.thread_binding(2, thread="vthread.x"):
                    C = T.decl_buffer((64,), scope="shared")
                    C[threadIdx_x] = A[blockIdx_x * 64 + threadIdx_x]
                    for j in range(2):
                        B[blockIdx_x * 64 + threadIdx_x * 2 + j] = C[threadIdx_x] + T.Cast("float32", vthread_x)


class TestLaunchesBecomeLoops(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.UnifyThreadBinding()

    def before(A: T.Buffer((256,), "float32")):
        bx = T.env_thread("blockIdx.x")
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(bx, 4)
        with T.launch_thread(tx, 16):
            A[bx * 4 + tx] = 1.0
        with T.launch_thread("threadIdx.x", 16) as ty:
            A[bx * 4 + ty] = 2.0

    def expected(A: T.Buffer((256,), "float32")):
        for blockIdx_x in T.thread_binding(4, thread="blockIdx.x"):
            for threadIdx_x in T.thread_binding(16, thread="threadIdx.x"):
                A[blockIdx_x * 4 + threadIdx_x] = 1.0
                A[blockIdx_x * 4 + threadIdx_x] = 2.0


class TestKernelsOneAfterTheOtherKeepTheirExtents(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.UnifyThreadBinding()

    def before(A: T.Buffer((256,), "float32"), n: T.int32):
        for bx in T.thread_binding(n, thread="blockIdx.x", annotations={"pragma_x": 1}):
            A[bx] = 1.0
        for by in T.thread_binding(n + 1, thread="blockIdx.x"):
            A[by] = 2.0

    expected = before


def module_of(func):
    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


def test_threads_of_one_axis_have_one_extent():
    @T.prim_func
    def differ(A: T.Buffer((256,), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(32, thread="threadIdx.x"):
                A[bx * 64 + tx] = 1.0
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                A[bx * 64 + tx] = 2.0

    with pytest.raises(tvm.TVMError, match="should have the same extent"):
        tir.transform.UnifyThreadBinding()(module_of(differ))


class TestVirtualThreadsHaveMemoryOfTheirOwn(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectVirtualThread()

    def before(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), n: T.int32):
        vx = T.env_thread("vthread")
        vy = T.env_thread("vthread")
        with T.launch_thread(vx, 2):
            with T.launch_thread(vy, 2):
                for i in range(n):
                    B = T.decl_buffer((4,), "float32", scope="shared")
                    B[i] = A[i * 2 + vx]
                    C[i * 2 + vy] = B[i] + 1.0

    def expected(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(n):
            B = T.decl_buffer((8,), "float32", scope="shared")
            B[T.Mul(0, 4) + i] = A[T.Add(i * 2, 0)]
            B[T.Mul(1, 4) + i] = A[i * 2 + 1]
            C[T.Add(i * 2, 0)] = B[T.Mul(0, 4) + i] + T.float32(1.0)
            C[T.Add(i * 2, 0)] = B[T.Mul(1, 4) + i] + T.float32(1.0)
            C[i * 2 + 1] = B[T.Mul(0, 4) + i] + T.float32(1.0)
            C[i * 2 + 1] = B[T.Mul(1, 4) + i] + T.float32(1.0)


class TestManyVirtualThreadsAreALoop(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectVirtualThread()

    def before(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), n: T.int32):
        vx = T.env_thread("vthread")
        with T.launch_thread(vx, 20):
            B = T.decl_buffer((4,), "float32", scope="local")
            D = T.decl_buffer((4,), "float32", scope="local")
            for i in range(n):
                B[i] = A[i]
            for i in range(vx):
                D[i] = B[i]
            C[vx] = D[0]

    def expected(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32"), n: T.int32):
        B = T.decl_buffer((4,), "float32", scope="local")
        D = T.decl_buffer((80,), "float32", scope="local")
        for i in range(n):
            B[i] = A[i]
        for v in range(20):
            for i in range(v):
                D[v * 4 + i] = B[i]
        for v in range(20):
            C[v] = D[v * 4]


class TestVirtualThreadsOfVectors(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectVirtualThread()

    def before(A: T.Buffer((4,), "int32")):
        v = T.launch_thread("vthread", 2)
        B = T.decl_buffer((4,), "int32", scope="shared")
        B[0:4] = T.broadcast(v, 4)

    def expected(A: T.Buffer((4,), "int32")):
        B = T.decl_buffer((8,), "int32", scope="shared")
        B[T.Mul(0, 4):T.Mul(0, 4) + 4] = T.broadcast(0, 4)
        B[T.Mul(1, 4):T.Mul(1, 4) + 4] = T.broadcast(1, 4)


@T.prim_func
def on_threads(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    i = T.launch_thread("threadIdx.x", 8)
    B[i] = A[i]


@T.prim_func
def partly(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.decl_buffer((8,), "float32", scope="local")
    C[0] = 1.0
    with T.launch_thread("threadIdx.x", 8) as i:
        B[i] = A[i]
    for j in range(8):
        B[j] = B[j] + 1.0


@pytest.mark.parametrize("target, func, is_fine", [("cuda", on_threads, True), ("cuda", partly, False),
                                                   ("opencl", partly, False), ("llvm", partly, True),
                                                   (None, partly, True)])
def test_memory_of_a_gpu_is_touched_by_threads(target, func, is_fine):
    if target:
        func = func.with_attr("target", tvm.target.Target(target))
    assert tir.analysis.verify_memory(func) == is_fine
    if is_fine:
        assert tir.transform.VerifyMemory()(module_of(func))
        return
    with pytest.raises(tvm.TVMError, match="Did you forget to bind"):
        tir.transform.VerifyMemory()(module_of(func))


@T.prim_func
def nests(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j, k in T.grid(8, 8):
            C[i, j] = A[j, k]
        for m in range(8):
            C[i, m] = A[i, m]
            for l in range(8):
                C[l, m] = A[i, m]


def profile_of(func, **options):
    config = {"tir." + name: value for name, value in {"reset_start_id": True, **options}.items()}
    with tvm.transform.PassContext(config=config):
        text = tir.transform.InstrumentProfileIntrinsics()(module_of(func))["main"].script()
    words = []
    for line in text.splitlines():
        for mark, word in (("start_profile", "<"), ("end_profile", ">"), ("for ", "for")):
            if mark in line:
                words.append(word + (line[line.rindex("c(") + 2:].rstrip(")") if word != "for" else ""))
    return " ".join(words)


def test_profiles_mark_loops_in_a_row_or_of_a_depth():
    assert profile_of(nests) == "<0 for <2 for >2 <4 for for >4 >0"
    assert profile_of(nests, instr_siblings=False) == "<0 <1 for for for for >1 >0"
    assert profile_of(nests, instr_siblings=False, lwp_max_depth=1) == "<0 <1 for <2 for >2 <4 for for >4 >1 >0"
    assert profile_of(nests, lwp_min_height=2) == "<0 for for for for >0"
    assert profile_of(nests, lwp_disable_func_prof=True) == "for <2 for >2 <4 for for >4"


class TestLoopsOverOneThreadAxisBecomeOne(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LiftThreadBinding()

    def before(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
        for bx in T.thread_binding(8, "blockIdx.x"):
            with T.block("outer"):
                for i in range(4):
                    for tx in T.thread_binding(32, "threadIdx.x", annotations={"k": 1}):
                        for ty in T.thread_binding(4, "threadIdx.y"):
                            with T.block("a"):
                                A[bx, tx + ty] = T.float32(1)
                for ty in T.thread_binding(4, "threadIdx.y"):
                    for j in range(4):
                        for tx in T.thread_binding(32, "threadIdx.x"):
                            with T.block("b"):
                                B[bx, tx + ty] = A[bx, tx]

    def expected(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8, 64), "float32")):
        for bx in T.thread_binding(8, "blockIdx.x"):
            for ty in T.thread_binding(4, "threadIdx.y"):
                for tx in T.thread_binding(32, "threadIdx.x", annotations={"k": 1}):
                    with T.block("outer"):
                        T.reads(A[bx, 0:32])
                        T.writes(A[bx, 0:35], B[bx, 0:35])
                        for i in range(4):
                            with T.block("a"):
                                A[bx, tx + ty] = T.float32(1)
                        for j in range(4):
                            with T.block("b"):
                                B[bx, tx + ty] = A[bx, tx]


class TestThreadsAloneAreAKernel(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LiftThreadBinding()

    def before(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        for ty in T.thread_binding(8, "threadIdx.y"):
            for tx in T.thread_binding(8, "threadIdx.x"):
                with T.block():
                    T.reads(A[0:64])
                    T.writes(C[ty * 8 + tx])
                    S = T.alloc_buffer((64,), "float32", scope="shared")
                    for a in T.thread_binding(8, "threadIdx.y", annotations={"k": 1}):
                        for b in T.thread_binding(8, "threadIdx.x"):
                            S[a * 8 + b] = A[a * 8 + b]
                    C[ty * 8 + tx] = S[63 - ty * 8 - tx]

    def expected(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
        for ty in T.thread_binding(8, "threadIdx.y", annotations={"k": 1}):
            for tx in T.thread_binding(8, "threadIdx.x"):
                with T.block():
                    T.reads(A[0:64])
                    T.writes(C[ty * 8 + tx])
                    S = T.alloc_buffer((64,), "float32", scope="shared")
                    S[ty * 8 + tx] = A[ty * 8 + tx]
                    C[ty * 8 + tx] = S[63 - ty * 8 - tx]


def test_a_tile_that_threads_fetch_together_launches_each_axis():
    @T.prim_func
    def matmul(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    sch = tir.Schedule(matmul)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    (by, ty, yi), (bx, tx, xi) = sch.split(i, [4, 8, 4]), sch.split(j, [4, 8, 4])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(by, bx, ty, tx, k0, k1, yi, xi)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    for operand in (0, 1):
        copy = sch.cache_read(block, operand, "shared")
        sch.compute_at(copy, k0)
        _, y, x = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 8, 8])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    lowered = tvm.lower(sch.mod)
    launched, shared = [], {}

    def note(node):
        if isinstance(node, tir.AttrStmt) and node.attr_key == "thread_extent":
            launched.append((node.node.thread_tag, int(node.value)))
        if isinstance(node, tir.Allocate):
            shared[node.buffer_var.name] = [int(extent) for extent in node.extents]

    tir.stmt_functor.post_order_visit(lowered["main"].body, note)
    assert sorted(launched) == [("blockIdx.x", 4), ("blockIdx.y", 4), ("threadIdx.x", 8), ("threadIdx.y", 8)]
    assert shared == {"A_shared": [256], "B_shared": [256]}
    assert all(var.dtype == "handle" for var in tir.analysis.undefined_vars(lowered["main"].body))


class TestThreadsStayWhereNoKernelIsAround(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LiftThreadBinding()

    def before(A: T.Buffer((8, 64), "float32")):
        for i in range(8):
            for tx in T.thread_binding(32, "threadIdx.x"):
                A[i, tx] = T.float32(1)
            for tx in T.thread_binding(32, "threadIdx.x"):
                A[i, tx + 32] = T.float32(1)

    expected = before


def test_threads_of_different_numbers_are_not_lifted():
    @T.prim_func(private=True)
    def func(A: T.Buffer((8, 64), "float32")):
        for bx in T.thread_binding(8, "blockIdx.x"):
            for i in range(2):
                for tx in T.thread_binding(32, "threadIdx.x"):
                    A[bx, tx] = T.float32(1)
            for tx in T.thread_binding(16, "threadIdx.x"):
                A[bx, tx + 32] = T.float32(1)

    with pytest.raises(tvm.TVMError, match="run over different ranges"):
        tir.transform.LiftThreadBinding()(tvm.IRModule({"main": func}))


class TestVirtualThreadsAreLaunched(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.LowerOpaqueBlock()

    def before(A: T.Buffer((4, 16), "float32")):
        for vx in T.thread_binding(4, thread="vthread"):
            for j in range(16):
                with T.block():
                    A[vx, j] = T.float32(1)

    def expected(A: T.Buffer((4, 16), "float32")):
        vx = T.launch_thread("vthread", 4)
        for j in range(16):
            A[vx, j] = T.float32(1)


if __name__ == "__main__":
    tvm.testing.main()
