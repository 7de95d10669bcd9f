"""UseAssumeToReduceBranches: what TVM 0.27 makes of the same programs; what it gets wrong stays."""
import numpy
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class _Reduces(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.UseAssumeToReduceBranches()


class TestPaddingIsComputedLikeTheRest(_Reduces):
    def before(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4, 16), "int32"), B: T.Buffer((4, 16), "int32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            with T.block("A_assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.evaluate(T.assume(not (vi == 3 and 12 <= vj) or A[vi, vj] == 3))
        for i, j in T.grid(4, 16):
            with T.block("C_assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.evaluate(T.assume(not (vi == 3 and 12 <= vj) or C[vi, vj] == 4))
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(vi == 3 and 12 <= vj, 7, A[vi, vj] + C[vi, vj])

    def expected(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4, 16), "int32"), B: T.Buffer((4, 16), "int32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            with T.block("A_assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.evaluate(T.assume(not (vi == 3 and 12 <= vj) or A[vi, vj] == 3))
        for i, j in T.grid(4, 16):
            with T.block("C_assume"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.evaluate(T.assume(not (vi == 3 and 12 <= vj) or C[vi, vj] == 4))
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj], C[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] + C[vi, vj]


class TestLoopsNeedNoBlocks(_Reduces):
    def before(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
        T.func_attr({"op_pattern": 1})
        for i, j in T.grid(4, 16):
            T.evaluate(T.assume(i < 3 or j < 12 or A[i, j] == T.float32(0)))
        for i, j in T.grid(4, 16):
            B[i, j] = T.if_then_else(i == 3 and 12 <= j, T.float32(0), A[i, j] * T.float32(2))

    def expected(A: T.Buffer((4, 16), "float32"), B: T.Buffer((4, 16), "float32")):
        T.func_attr({"op_pattern": 1})
        for i, j in T.grid(4, 16):
            T.evaluate(T.assume(i < 3 or j < 12 or A[i, j] == T.float32(0)))
        for i, j in T.grid(4, 16):
            B[i, j] = A[i, j] * T.float32(2)


def assumed(value, pattern=0, between="", axes="i, j in T.grid(4, 16)", store=None):
    """What becomes of B[vi, vj] = `value` where A is 0 in the last four columns of the last row."""
    store = store or f"B[vi, vj] = {value}"
    text = f'''
@T.prim_func(private=True)
def main(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4, 16), "int32"), B: T.Buffer((4, 16), "int32")):
    T.func_attr({{"op_pattern": {pattern}}})
    for i, j in T.grid(4, 16):
        with T.block("assume"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.evaluate(T.assume(not (vi == 3 and 12 <= vj) or A[vi, vj] == 0))
    {between}
    for {axes}:
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            {store}
'''
    func = tvm.script.from_source(text)
    result = tir.transform.UseAssumeToReduceBranches()(tvm.IRModule({"main": func}))["main"]
    return not tvm.ir.structural_equal(result, func)


def test_it_reduces_where_the_values_are_the_same():
    pad = "vi == 3 and 12 <= vj"
    assert assumed(f"T.if_then_else({pad}, 0, A[vi, vj] * 2)")
    assert assumed(f"T.if_then_else({pad}, C[vi, vj], A[vi, vj] * 2 + C[vi, vj])")
    assert assumed("T.if_then_else(vi == 3 and 13 <= vj, 0, A[vi, vj])")


@pytest.mark.parametrize("value", [
    "T.if_then_else(vi == 3 and 11 <= vj, 0, A[vi, vj])",       # More than is assumed.
    "T.if_then_else(vi == 3 and 12 <= vj, 1, A[vi, vj])",       # Another value.
    "T.if_then_else(vi == 2 and 12 <= vj, 0, A[vi, vj])",       # Another row.
    "T.if_then_else(vi == 3 and 12 <= vj, 0, A[vi, vj] * C[vi + 1, vj])",  # What else is read is not there.
    "T.if_then_else(vi == 3 and 12 <= vj, 0, A[vi, vj] // (vj - 12))",     # It would divide by 0.
    "1 + T.if_then_else(vi == 3 and 12 <= vj, 0, A[vi, vj])",   # As in TVM: whole values only.
])
def test_it_keeps_branches_that_matter(value):
    assert not assumed(value)


def test_it_is_for_elementwise_functions_only():
    value = "T.if_then_else(vi == 3 and 12 <= vj, 0, A[vi, vj])"
    assert assumed(value, pattern=1) and not assumed(value, pattern=2)


def test_an_assumption_ends_with_a_write():
    value = "T.if_then_else(vi == 3 and 12 <= vj, 0, A[vi, vj])"
    assert assumed(value, between="C[0, 0] = 1")
    assert not assumed(value, between="A[3, 15] = 1")
    assert not assumed(value, between='T.evaluate(T.call_extern("int32", "fill", A.data))')
    assert not assumed(value, store=f"B[vi, vj] = {value}\n            A[vi, vj] = 5")


def test_blocks_that_leave_out_values_assume_less():
    text = '''
@T.prim_func(private=True)
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    T.func_attr({"op_pattern": 0})
    for i in range(16):
        with T.block("assume"):
            vi = T.axis.spatial(16, i)
            T.where(%s)
            T.evaluate(T.assume(vi < 12 or A[vi] == 0))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = T.if_then_else(12 <= vi, 0, A[vi])
'''
    for where, reduces in (("i < 16", True), ("i < 14", False)):
        func = tvm.script.from_source(text % where)
        result = tir.transform.UseAssumeToReduceBranches()(tvm.IRModule({"main": func}))["main"]
        assert tvm.ir.structural_equal(result, func) != reduces


def test_what_an_assumption_may_say_is_checked():
    @T.prim_func(private=True)
    def func(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
        T.func_attr({"op_pattern": 0})
        for i in range(16):
            T.evaluate(T.assume(i < 12 or A[i] == B[i]))

    with pytest.raises(tvm.TVMError, match="says more of memory"):
        tir.transform.UseAssumeToReduceBranches()(tvm.IRModule({"main": func}))


def test_the_reduced_function_computes_the_same():
    @T.prim_func
    def func(A: T.Buffer((4, 16), "int32"), B: T.Buffer((4, 16), "int32")):
        T.func_attr({"op_pattern": 0})
        for i, j in T.grid(4, 16):
            T.evaluate(T.assume(i < 3 or j < 12 or A[i, j] == 0))
        for i, j in T.grid(4, 16):
            B[i, j] = T.if_then_else(i == 3 and 12 <= j, 0, A[i, j] * 5)

    reduced = tvm.transform.Sequential([tir.transform.UseAssumeToReduceBranches(), tir.transform.RemoveAssume()])(
        tvm.IRModule({"main": func}))
    assert "if_then_else" not in reduced.script()
    a = numpy.arange(64, dtype="int32").reshape(4, 16)
    a[3, 12:] = 0
    b = tvm.nd.empty((4, 16), "int32")
    tvm.build(reduced, target="llvm")(tvm.nd.array(a), b)
    numpy.testing.assert_array_equal(b.numpy(), a * 5)
