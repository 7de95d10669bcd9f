"""ReduceBranchingThroughOvercompute, as TVM 0.18 documents it (0.27 has none): conditions fall away where what is
computed besides is seen by nobody. Values are compared before and after, too."""
import numpy
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


def _reduced(mod, uses_dataflow=True):
    config = {"tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": uses_dataflow}}
    with tvm.transform.PassContext(config=config):
        return tir.transform.ReduceBranchingThroughOvercompute()(mod)


class _Reduces(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return _reduced


class TestASumOfKnownZeros(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        B[0] = 0
        for i in range(16):
            if i < 14:
                B[0] = B[0] + A[i]

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        B[0] = 0
        for i in range(16):
            B[0] = B[0] + A[i]


class TestAnAssumptionOfTheSameIteration(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
            if i < 14:
                B[0] = B[0] + A[i]

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
            B[0] = B[0] + A[i]


class TestZerosThatWereStored(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            if i >= 14:
                A[i] = 0
        for i in range(16):
            if i < 14:
                B[0] = B[0] + A[i]

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            if i >= 14:
                A[i] = 0
        for i in range(16):
            B[0] = B[0] + A[i]


class TestAStoreOfWhatIsThere(_Reduces):
    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 0
        for i in range(16):
            if i < 14:
                A[i] = 0

    def expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 0
        for i in range(16):
            A[i] = 0


class TestBranchesThatAreTheSameByWhatIsAssumed(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        for i in range(16):
            if i < 14:
                B[i] = A[i] * 2 + 1
            else:
                B[i] = 1

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        for i in range(16):
            B[i] = A[i] * 2 + 1


class TestTheSecondBranchMayBeTheGeneralOne(_Reduces):
    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            if i == 0:
                A[i] = 5
            else:
                A[i] = i * 3 + 5

    def expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = i * 3 + 5


class TestWhatIsWrittenAgainMayBeSpoilt(_Reduces):
    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            if i < 14:
                A[i] = 1
        for i in range(16):
            if i >= 14:
                A[i] = 2

    def expected(A: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 1
        for i in range(16):
            if i >= 14:
                A[i] = 2


class TestWhatIsReadBeforeItIsWrittenAgainStays(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            if i < 14:
                A[i] = 1
        for i in range(16):
            B[i] = A[i]
        for i in range(16):
            if i >= 14:
                A[i] = 2

    expected = before


class TestWhatIsWrittenAgainInPartStays(_Reduces):
    def before(A: T.Buffer((16,), "int32")):
        for i in range(16):
            if i < 14:
                A[i] = 1
        for i in range(16):
            if i >= 15:
                A[i] = 2

    expected = before


class TestAnAssumptionEndsWithAWrite(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        A[15] = 1
        for i in range(16):
            if i < 14:
                B[0] = B[0] + A[i]

    expected = before


class TestAWriteElsewhereKeepsAnAssumption(_Reduces):
    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        for i in range(10):
            A[i] = 7
        for i in range(16):
            if i < 14:
                B[0] = B[0] + A[i]

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        for i in range(10):
            A[i] = 7
        for i in range(16):
            B[0] = B[0] + A[i]


class TestThreadsDoNotWriteWhatOthersWrite(_Reduces):
    """B[0] = B[0] + 0 of one thread would undo what another one adds."""

    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(16):
            T.evaluate(T.assume(i < 14 or A[i] == 0))
        for i in T.parallel(16):
            if i < 14:
                B[0] = B[0] + A[i]

    expected = before


class TestWhatIsNotThereIsNotRead(_Reduces):
    def before(A: T.Buffer((14,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            if i < 14:
                B[i] = A[i] * T.max(14 - i, 0)
            else:
                B[i] = 0

    expected = before


class TestWhatIsNotThereIsNotWritten(_Reduces):
    def before(A: T.Buffer((14,), "int32")):
        for i in range(16):
            if i < 14:
                A[i] = A[i] + T.min(T.max(14 - i, 0), 0)

    expected = before


class TestWithoutDataflowOnlyArithmeticDecides(tvm.testing.CompareBeforeAfter):
    def transform(self):
        return tir.transform.ReduceBranchingThroughOvercompute()

    def before(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 0
        for i in range(16):
            if i < 14:
                B[i] = A[i] + 1
            else:
                B[i] = 1
            if i < 14:
                A[i] = i
            else:
                A[i] = T.max(i, 14)

    def expected(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        for i in range(16):
            A[i] = 0
        for i in range(16):
            if i < 14:
                B[i] = A[i] + 1
            else:
                B[i] = 1
            A[i] = i


@T.prim_func
def chain(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((1,), "int32")):
    for i in range(16):
        if i >= 12:
            A[i] = 3
    for i in range(16):
        if i < 12:
            B[i] = A[i] + 4
        else:
            B[i] = 7
    for i in range(16):
        if i < 12:
            A[i] = B[i]
    for i in range(16):
        if i >= 12:
            A[i] = i
    for i in range(16):
        if i < 8:
            C[0] = C[0] + A[i]


def test_values_are_what_they_were():
    mod = tvm.IRModule({"main": chain})
    after = _reduced(mod)
    assert after.script().count("if ") == mod.script().count("if ") - 2
    results = []
    for each in (mod, after):
        arrays = [tvm.nd.array(numpy.arange(n, dtype="int32") * 5) for n in (16, 16, 1)]
        tvm.build(each["main"], target="llvm")(*arrays)
        results.append([array.numpy() for array in arrays])
    for before, now in zip(*results):
        numpy.testing.assert_array_equal(before, now)


if __name__ == "__main__":
    tvm.testing.main()
