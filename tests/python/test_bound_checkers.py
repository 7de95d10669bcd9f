"""InstrumentBoundCheckers: kernels that end where they would leave their buffers."""
import numpy
import pytest
import tvm
import tvm.testing
from tvm import te, tir
from tvm.script import tir as T


class TestOnlyWhatIsNotKnownIsChecked(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InstrumentBoundCheckers()

    def before(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(16):
            B[i] = A[i + 1] + A[i]
        for i in range(n):
            B[i] = A[i]
        for i in range(16):
            B[i] = T.if_then_else(0 < i, A[i - 1], T.float32(0))

    def expected(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(16):
            if i + 1 < 16:
                B[i] = A[i + 1] + A[i]
            else:
                assert T.bool(False), "OUT OF THE BOUNDS"
        for i in range(n):
            if T.if_then_else(i < 16, i < 16, T.bool(False)):
                B[i] = A[i]
            else:
                assert T.bool(False), "OUT OF THE BOUNDS"
        for i in range(16):
            B[i] = T.if_then_else(0 < i, A[i - 1], T.float32(0))


class TestIndicesThatAreReadAreCheckedFirst(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InstrumentBoundCheckers()

    def before(A: T.Buffer((16,), "float32"), K: T.Buffer((8,), "int32"), B: T.Buffer((16,), "float32")):
        for i in range(9):
            B[i] = A[K[i]]

    def expected(A: T.Buffer((16,), "float32"), K: T.Buffer((8,), "int32"), B: T.Buffer((16,), "float32")):
        for i in range(9):
            if T.if_then_else(T.if_then_else(i < 8, 0 <= K[i], T.bool(False)), K[i] < 16, T.bool(False)):
                B[i] = A[K[i]]
            else:
                assert T.bool(False), "OUT OF THE BOUNDS"


class TestVectorsAreCheckedAtTheirEnds(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InstrumentBoundCheckers()

    def before(B: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(4):
            B[T.Ramp(i * 4, 1, 4)] = T.Broadcast(T.float32(0), 4)
        for i in range(4):
            B[T.Ramp(i * 4 + 1, 1, 4)] = T.Broadcast(T.float32(0), 4)

    def expected(B: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(4):
            B[T.Ramp(i * 4, 1, 4)] = T.Broadcast(T.float32(0), 4)
        for i in range(4):
            if T.max(i * 4 + 1, i * 4 + 1 + 3) < 16:
                B[T.Ramp(i * 4 + 1, 1, 4)] = T.Broadcast(T.float32(0), 4)
            else:
                assert T.bool(False), "OUT OF THE BOUNDS"


def added(index_a, index_b, parallel):
    n = te.size_var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i + index_a] + B[i + index_b], name="C")
    schedule = te.create_schedule(C.op)
    if parallel:
        outer, inner = schedule[C].split(C.op.axis[0], factor=8)
        schedule[C].parallel(outer)
        schedule[C].vectorize(inner)
    with tvm.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        return tvm.build(schedule, [A, B, C], "llvm", name="add")


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("index_a, index_b, inside", [(0, 0, True), (1, 0, False), (0, -1, False), (0, 1 << 20, False)])
def test_a_kernel_that_leaves_its_buffers_fails(index_a, index_b, inside, parallel):
    a, b, c = (tvm.nd.array(numpy.arange(64, dtype="float32")) for _ in range(3))
    kernel = added(index_a, index_b, parallel)
    if inside:
        kernel(a, b, c)
        numpy.testing.assert_array_equal(c.numpy(), numpy.arange(64, dtype="float32") * 2)
        return
    with pytest.raises(tvm.TVMError, match="OUT OF THE BOUNDS"):
        kernel(a, b, c)


def test_without_the_option_nothing_is_checked():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in range(n):
            A[i] = 1.0

    assert "OUT OF" not in tvm.lower(func).script()
    with tvm.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        assert "OUT OF" in tvm.lower(func).script()
