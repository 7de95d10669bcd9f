"""LoopPartition: what TVM 0.27 makes of the same programs, then simplified. Where TVM runs iterations that there were
not, Lathe holds the parts in the loop."""
import numpy
import pytest
import tvm
import tvm.testing
from programs import plus_one
from tvm import tir
from tvm.script import tir as T


def _partitioned(**options):
    def transform(mod):
        with tvm.transform.PassContext(config={"tir.LoopPartition": options}):
            passes = [tir.transform.LowerOpaqueBlock(), tir.transform.LoopPartition(), tir.transform.Simplify(),
                      tir.transform.RemoveNoOp()]
            return tvm.transform.Sequential(passes)(mod)

    return transform


class _Partitions(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return _partitioned()


class _PartitionsConstants(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return _partitioned(partition_const_loop=True)


class TestATailOfOneIterationIsNoLoop(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(7):
            for j in range(16):
                if T.likely(i * 16 + j < 100):
                    B[i * 16 + j] = A[i * 16 + j]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i, j in T.grid(6, 16):
            B[i * 16 + j] = A[i * 16 + j]
        for j in range(4):
            B[j + 96] = A[j + 96]


class TestATailOfOneIterationMayStayALoop(TestATailOfOneIterationIsNoLoop):
    def transform(self):
        return _partitioned(partition_const_loop=True, no_unroll_loop_with_extent_one=True)

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i, j in T.grid(6, 16):
            B[i * 16 + j] = A[i * 16 + j]
        for i in range(1):
            for j in range(4):
                B[j + 96] = A[j + 96]


class TestConstantLoopsStayUnlessAskedFor(TestATailOfOneIterationIsNoLoop):
    def transform(self):
        return _partitioned()

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i, j in T.grid(7, 16):
            if i * 16 + j < 100:
                B[i * 16 + j] = A[i * 16 + j]


class TestOnlyLikelyConditionsPartition(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i, j in T.grid(7, 16):
            if i * 16 + j < 100:
                B[i * 16 + j] = A[i * 16 + j]

    expected = before


class TestASymbolicLoopHasATail(_Partitions):
    def before(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range((n + 15) // 16):
            for j in range(16):
                if T.likely(i * 16 + j < n):
                    B[i * 16 + j] = A[i * 16 + j]

    def expected(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i, j in T.grid(n // 16, 16):
            B[i * 16 + j] = A[i * 16 + j]
        for i, j in T.grid((n % 16 + 15) // 16, 16):
            if n // 16 * 16 + i * 16 + j < n:
                B[n // 16 * 16 + i * 16 + j] = A[n // 16 * 16 + i * 16 + j]


class TestALoopFrom3(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in T.serial(3, 25):
            if T.likely(i < 20):
                B[i] = A[i]
            else:
                B[i] = T.float32(0)

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(17):
            B[i + 3] = A[i + 3]
        for i in range(5):
            B[i + 20] = T.float32(0)


class TestTwoConditionsMakeThreeParts(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(50):
            if T.likely(i < 30):
                B[i] = A[i]
            if T.likely(i < 40):
                B[i + 50] = A[i + 50]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(30):
            B[i] = A[i]
            B[i + 50] = A[i + 50]
        for i in range(10):
            B[i + 80] = A[i + 80]


class TestNestedLoops(_PartitionsConstants):
    def before(A: T.Buffer((100, 100), "float32"), B: T.Buffer((100, 100), "float32")):
        for i, j, ii, jj in T.grid(7, 7, 16, 16):
            if T.likely(i * 16 + ii < 100):
                if T.likely(j * 16 + jj < 100):
                    B[i * 16 + ii, j * 16 + jj] = A[i * 16 + ii, j * 16 + jj]

    def expected(A: T.Buffer((100, 100), "float32"), B: T.Buffer((100, 100), "float32")):
        for i in range(6):
            for j, ii, jj in T.grid(6, 16, 16):
                B[i * 16 + ii, j * 16 + jj] = A[i * 16 + ii, j * 16 + jj]
            for ii, jj in T.grid(16, 4):
                B[i * 16 + ii, jj + 96] = A[i * 16 + ii, jj + 96]
        for j, ii, jj in T.grid(6, 4, 16):
            B[ii + 96, j * 16 + jj] = A[ii + 96, j * 16 + jj]
        for ii, jj in T.grid(4, 4):
            B[ii + 96, jj + 96] = A[ii + 96, jj + 96]


class TestAVectorizedLoopIsCutToo(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(4):
            for j in T.vectorized(32):
                if T.likely(i * 32 + j < 100):
                    B[i * 32 + j] = A[i * 32 + j]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(3):
            for j in T.vectorized(32):
                B[i * 32 + j] = A[i * 32 + j]
        for j in T.vectorized(4):
            B[j + 96] = A[j + 96]


class TestALaunchOfBlocksChooses(_PartitionsConstants):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        bx = T.launch_thread("blockIdx.x", 7)
        tx = T.launch_thread("threadIdx.x", 16)
        if T.likely(bx * 16 + tx < 100):
            B[bx * 16 + tx] = A[bx * 16 + tx]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        bx = T.launch_thread("blockIdx.x", 7)
        tx = T.launch_thread("threadIdx.x", 16)
        if bx < 6:
            B[bx * 16 + tx] = A[bx * 16 + tx]
        else:
            if bx * 16 + tx < 100:
                B[bx * 16 + tx] = A[bx * 16 + tx]


class TestAHintTakesEveryConditionApart(_Partitions):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((120,), "float32")):
        for i in T.serial(120, annotations={"pragma_loop_partition_hint": 1}):
            B[i] = T.if_then_else(10 <= i and i < 110, A[i - 10], T.float32(0))

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((120,), "float32")):
        for i in range(10):
            B[i] = T.float32(0)
        for i in range(100):
            B[i + 10] = A[i]
        for i in range(10):
            B[i + 110] = T.float32(0)


class TestAHintCutsOutOneIteration(_Partitions):
    def before(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
        for i in T.serial(20, annotations={"pragma_loop_partition_hint": 1}):
            if i != 19:
                B[i] = A[i] + T.float32(1)
            else:
                B[i] = A[i]

    def expected(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
        for i in range(19):
            B[i] = A[i] + T.float32(1)
        B[19] = A[19]


class TestAHintCutsAnElseIf(_Partitions):
    def before(A: T.Buffer((200,), "float32"), B: T.Buffer((100,), "float32")):
        for i in T.serial(100, annotations={"pragma_loop_partition_hint": 1}):
            if i < 30:
                B[i] = A[i]
            elif i < 60:
                B[i] = A[i + 1]
            else:
                B[i] = A[i + 2]

    def expected(A: T.Buffer((200,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(30):
            B[i] = A[i]
        for i in range(30):
            B[i + 30] = A[i + 31]
        for i in range(40):
            B[i + 60] = A[i + 62]


class TestConditionsThatExcludeEachOther(_Partitions):
    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in T.serial(16, annotations={"pragma_loop_partition_hint": 1}):
            if i < 3 or i > 12:
                B[i] = A[i]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(3):
            B[i] = A[i]
        for i in range(3):
            B[i + 13] = A[i + 13]


class TestAHintWithoutAnIntervalMayUnroll(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return _partitioned(unroll_loop_with_partition_hint_no_interval=True)

    def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in T.serial(3, annotations={"pragma_loop_partition_hint": 1}):
            for j in range(10):
                if i + j < 5:
                    B[i * 10 + j] = A[i * 10 + j]

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in T.unroll(3):
            for j in range(10):
                if i + j < 5:
                    B[i * 10 + j] = A[i * 10 + j]


class TestAHintWithoutAnIntervalFallsAway(TestAHintWithoutAnIntervalMayUnroll):
    def transform(self):
        return _partitioned()

    def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
        for i in range(3):
            for j in range(10):
                if i + j < 5:
                    B[i * 10 + j] = A[i * 10 + j]


class TestAPartEndsWithItsLoop(_Partitions):
    """TVM 0.27 runs n iterations before i = n, although there are m."""

    def before(b: T.handle, n: T.int32, m: T.int32):
        B = T.match_buffer(b, (m,), "float32")
        for i in range(m):
            if T.likely(i >= n):
                B[i] = T.float32(1)
            else:
                B[i] = T.float32(2)

    def expected(b: T.handle, n: T.int32, m: T.int32):
        B = T.match_buffer(b, (m,), "float32")
        for i in range(T.min(T.max(n, 0), m)):
            if n <= i:
                B[i] = T.float32(1)
            else:
                B[i] = T.float32(2)
        for i in range(m - T.min(T.max(n, 0), m)):
            B[T.min(T.max(n, 0), m) + i] = T.float32(1)


class TestABoundThatBeginsInsideOfTheLoopDecidesNothing(_PartitionsConstants):
    def before(A: T.Buffer((100,), "int32"), B: T.Buffer((100,), "int32")):
        for i in range(10):
            x: T.int32 = A[i]
            if T.likely(i < x):
                B[i] = 1
            if T.likely(i < A[0]):
                B[i + 50] = 2

    def expected(A: T.Buffer((100,), "int32"), B: T.Buffer((100,), "int32")):
        for i in range(10):
            x: T.int32 = A[i]
            if i < x:
                B[i] = 1
            if i < A[0]:
                B[i + 50] = 2


class TestReductionsAcrossThreadsStayWhole(_PartitionsConstants):
    def before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(4):
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), T.if_then_else(T.likely(i < 2), A[i], T.float32(0)), True, B.data, i)

    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(4):
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                T.tvm_thread_allreduce(T.uint32(1), T.if_then_else(i < 2, A[i], T.float32(0)), True, B.data, i)


@pytest.mark.parametrize("n, m", [(5, 9), (9, 5), (0, 4), (-3, 4), (4, 4)])
def test_parts_together_do_what_the_loop_did(n, m):
    @T.prim_func
    def ends(b: T.handle, n: T.int32, m: T.int32):
        B = T.match_buffer(b, (m,), "float32")
        for i in range(m):
            if T.likely(i >= n):
                B[i] = T.float32(1)
            else:
                B[i] = T.float32(2)

    before, results = tvm.IRModule({"main": ends}), []
    for mod in (before, _partitioned()(before)):
        b = tvm.nd.array(numpy.zeros(m, "float32"))
        tvm.build(mod["main"], target="llvm")(b, n, m)
        results.append(b.numpy())
    numpy.testing.assert_array_equal(*results)


def _runs_as_before(func, lengths):
    after = _partitioned()(tvm.IRModule({"main": func}))["main"]
    built, plain = tvm.build(after, target="llvm"), tvm.build(func, target="llvm")
    for n in lengths:
        results = []
        for each in (built, plain):
            counts = tvm.nd.array(numpy.zeros(64, "int32"))
            each(counts, n)
            results.append(counts.numpy())
        numpy.testing.assert_array_equal(*results)
    return after


def test_a_loop_of_unknown_length_is_divided_at_both_ends():
    @T.prim_func
    def func(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(n):
            if T.likely(i >= 3) and T.likely(i < n - 2):
                A[i] = A[i] + 1
            else:
                A[i] = A[i] + 2

    after = _runs_as_before(func, [-5, -1, 0, 1, 2, 3, 4, 5, 6, 20])
    assert len(after.body) == 3 and isinstance(after.body[1].body, tir.BufferStore)


def test_no_part_goes_on_behind_the_loop():
    @T.prim_func
    def func(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(n):
            if T.likely(i < n - 2):
                A[i] = A[i] + 1
            else:
                A[i] = A[i] + 2

    assert len(_runs_as_before(func, [-1, 0, 1, 2, 3, 20]).body) == 2


if __name__ == "__main__":
    tvm.testing.main()


@pytest.mark.parametrize("mark", [lambda sch, loop: sch.parallel(loop), lambda sch, loop: sch.bind(loop, "blockIdx.x")], ids=["parallel", "bind"])
def test_loops_around_parts_run_at_once_where_each_iteration_keeps_to_itself(mark):
    sch = tir.Schedule(plus_one)
    i, j = sch.get_loops("B")
    sch.loop_partition(j, [8, None])
    mark(sch, i)
    assert sch.get(i).kind in (tir.ForKind.PARALLEL, tir.ForKind.THREAD_BINDING)
