"""Assertions cover a body, as every statement of TVM 0.18 that is about others."""
import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def checked(A: T.Buffer((4,), "int32"), n: T.int32):
    assert n > 3, "n is small"
    A[0] = T.max(n, 2)
    A[1] = n


def test_what_follows_an_assertion_is_its_body():
    assertion = checked.body
    assert isinstance(assertion, tir.AssertStmt) and isinstance(assertion.body, tir.SeqStmt)
    assert isinstance(assertion.message, tir.StringImm) and assertion.message.value == "n is small"
    assert len(assertion.body) == 2


def test_an_assertion_is_built_of_its_fields():
    x = tir.Var("x", "int32")
    assertion = tir.AssertStmt(x > 0, tir.StringImm("m"), tir.Evaluate(x))
    assert isinstance(assertion, tir.AssertStmt) and assertion.body.value.same_as(x)
    again = tir.AssertStmt(assertion.condition, assertion.message, assertion.body)
    tvm.ir.assert_structural_equal(again, assertion)
    assert not tvm.ir.structural_equal(again, tir.AssertStmt(x > 0, "n", tir.Evaluate(x)))


def test_texts_of_assertions_read_back():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), n: T.int32):
        with T.Assert(n > 3, "n is small"):
            A[0] = n
        A[1] = n

    first, second = func.body
    assert isinstance(first, tir.AssertStmt) and isinstance(second, tir.BufferStore)
    assert 'with T.Assert(n > 3, "n is small"):' in func.script()
    for one in (func, checked):
        tvm.ir.assert_structural_equal(tvm.script.from_source(one.script()), one)
        tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(one)), one)


def test_what_is_asserted_is_known_in_the_body():
    func = tir.transform.Simplify()(tvm.IRModule({"main": checked}))["main"]
    assert isinstance(func.body, tir.AssertStmt) and func.body.body[0].value.same_as(func.params[1])


def test_assertions_are_skipped_where_they_are():
    func = tir.transform.SkipAssert()(tvm.IRModule({"main": checked}))["main"]
    assert isinstance(func.body, tir.SeqStmt) and len(func.body) == 2


def test_built_code_stops_at_an_assertion():
    import numpy as np
    built = tvm.build(checked, target="llvm")
    array = tvm.nd.array(np.zeros(4, "int32"))
    built(array, 5)
    assert list(array.numpy()) == [5, 5, 0, 0]
    with pytest.raises(tvm.TVMError, match="n is small"):
        built(array, 2)
