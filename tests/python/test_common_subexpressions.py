"""CommonSubexprElimTIR: what is computed twice is a variable; what TVM 0.27 makes of the same programs."""
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class TestWhatIsComputedTwiceIsAVariable(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(B: T.Buffer((50,), "int32"), n: T.int32):
        for i in range(n):
            B[i * 4 + 2] = i * 4 + 2
            for j in range(n * 3):
                B[i * 4 + j] = B[i * 4 + j] + n * 3 + B[i * 4 + 2]

    def expected(B: T.Buffer((50,), "int32"), n: T.int32):
        for i in range(n):
            x: T.int32 = i * 4
            y: T.int32 = x + 2
            B[y] = y
            z: T.int32 = n * 3
            for j in range(z):
                w: T.int32 = x + j
                B[w] = B[w] + z + B[y]


class TestVariablesBeginWhereAllUsesAre(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(B: T.Buffer((50,), "int32"), i1: T.int32, y: T.int32, z: T.int32):
        if i1 == 1:
            B[i1] = y + z
            B[2] = y - z
            B[3] = y - z
        else:
            B[i1] = y + z
        if y * z > 3:
            B[3] = y * z
        a: T.int32 = y * z + 1
        B[a] = y * z + 1

    def expected(B: T.Buffer((50,), "int32"), i1: T.int32, y: T.int32, z: T.int32):
        v1: T.int32 = y + z
        if i1 == 1:
            B[i1] = v1
            v2: T.int32 = y - z
            B[2] = v2
            B[3] = v2
        else:
            B[i1] = v1
        v3: T.int32 = y * z
        if v3 > 3:
            B[3] = v3
        v4: T.int32 = v3 + 1
        a: T.int32 = v4
        B[a] = v4


class TestTheExtentOfALaunchIsThereOnce(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        bx = T.launch_thread("blockIdx.x", (n + 63) // 64)
        tx = T.launch_thread("threadIdx.x", 64)
        if T.likely(bx * 64 + tx < n):
            A[bx * 64 + tx] = T.float32(0)

    def expected(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        bx = T.launch_thread("blockIdx.x", (n + 63) // 64)
        tx = T.launch_thread("threadIdx.x", 64)
        i: T.int32 = bx * 64 + tx
        if T.likely(i < n):
            A[i] = T.float32(0)


class TestTermsThatMeanTheSameAreCommonWhenAsked(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR(identify_equiv_terms=True)

    def before(B: T.Buffer((50,), "int32"), x: T.int32, y: T.int32, z: T.int32, i: T.int32):
        B[0] = x * (y + z)
        B[1] = x * y + x * z
        B[2] = z + i * 2 - y + y
        if y > 0:
            B[3] = i + z + i

    def expected(B: T.Buffer((50,), "int32"), x: T.int32, y: T.int32, z: T.int32, i: T.int32):
        v1: T.int32 = x * (y + z)
        B[0] = v1
        B[1] = v1
        v2: T.int32 = z + i * 2
        B[2] = v2 - y + y
        if y > 0:
            B[3] = v2


class TestTermsAreComparedAsTheyAreWritten(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(B: T.Buffer((50,), "int32"), x: T.int32, y: T.int32, z: T.int32):
        B[0] = x * (y + z)
        B[1] = x * y + x * z

    expected = before


def test_lower_identifies_equivalent_terms_when_the_context_says_so():
    @T.prim_func
    def func(A: T.Buffer((8,), "int32"), x: T.int32, y: T.int32):
        for i in range(8):
            if A[i] > 0:
                A[i] = x * y + i
            else:
                A[i] = y * x + i

    def text(**config):
        with tvm.transform.PassContext(config=config):
            return tvm.lower(func)["main"].script()

    assert text().count("cse_var") == 0
    assert "cse_var_1: T.int32 = x * y" in text(**{"tir.enable_equiv_terms_in_cse_tir": True})


class TestPartsOfWhatIsCommonAreCommonOnlyIfUsedBeside(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(B: T.Buffer((50,), "int32"), i: T.int32, x: T.int32, y: T.int32, z: T.int32):
        B[i] = (x + y) * z + (x + y)
        B[0] = (x + y) * z
        B[1] = (x - y) * z
        B[2] = (x - y) * z

    def expected(B: T.Buffer((50,), "int32"), i: T.int32, x: T.int32, y: T.int32, z: T.int32):
        v1: T.int32 = x + y
        v2: T.int32 = v1 * z
        B[i] = v2 + v1
        B[0] = v2
        v3: T.int32 = (x - y) * z
        B[1] = v3
        B[2] = v3


class TestLoadsAndCallsAreComputedAgain(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.CommonSubexprElimTIR()

    def before(B: T.Buffer((50,), "float32"), i: T.int32, x: T.float32, y: T.float32):
        B[i] = T.exp(x * y) + T.exp(x * y)
        B[i + 1] = B[i + 3] + B[i + 3]

    def expected(B: T.Buffer((50,), "float32"), i: T.int32, x: T.float32, y: T.float32):
        v: T.float32 = x * y
        B[i] = T.exp(v) + T.exp(v)
        j: T.int32 = i + 3
        B[i + 1] = B[j] + B[j]


def test_divisions_stay_under_their_conditions():
    @T.prim_func
    def guarded(B: T.Buffer((50,), "int32"), y: T.int32, z: T.int32):
        if z != 0:
            B[0] = y // z
        if z != 0:
            B[1] = y // z
        B[2] = T.if_then_else(z == 0, 0, y % z + y % z)

    module = tvm.IRModule.from_expr(guarded.with_attr("global_symbol", "main"))
    for options in ({}, {"enable_cse_tir": False}):
        tvm.ir.assert_structural_equal(tir.transform.CommonSubexprElimTIR(**options)(module), module)
