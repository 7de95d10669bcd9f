"""arith: the Analyzer as TVM programs ask it."""
import pytest
import tvm
import tvm.testing
from tvm import tir


def test_simplify_uses_bounds():
    analyzer = tvm.arith.Analyzer()
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer.bind(x, tvm.ir.Range(0, 16))
    tvm.ir.assert_structural_equal(analyzer.simplify((x + y * 16) // 16), y)
    assert analyzer.simplify(x // 16) == 0
    assert analyzer.can_prove(x < 16) and not analyzer.can_prove(x < 15)


def test_const_int_bound_and_modular_set():
    analyzer = tvm.arith.Analyzer()
    x = tir.Var("x", "int64")
    bound = analyzer.const_int_bound(x)
    assert bound.min_value == bound.NEG_INF and bound.max_value == bound.POS_INF
    analyzer.update(x, tvm.arith.ConstIntBound(-3, 5))
    bound = analyzer.const_int_bound(x * 2 + 1)
    assert (bound.min_value, bound.max_value) == (-5, 11)
    remainder = analyzer.modular_set(x * 8 + 3)
    assert (remainder.coeff, remainder.base) == (8, 3)


def test_a_constraint_holds_inside_its_scope_only():
    analyzer = tvm.arith.Analyzer()
    x = tir.Var("x", "int32")
    with analyzer.constraint_scope(x < 10):
        assert analyzer.can_prove(x < 10)
    assert not analyzer.can_prove(x < 10)


def test_int_set_covers_the_domains():
    analyzer = tvm.arith.Analyzer()
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    covered = analyzer.int_set(x * 4 + y, {x: tvm.ir.Range(0, 8)})
    tvm.testing.assert_prim_expr_equal(covered.min_value, y)
    tvm.testing.assert_prim_expr_equal(covered.max_value, y + 28)
    with pytest.raises(AssertionError):
        tvm.testing.assert_prim_expr_equal(covered.min_value, y + 1)


if __name__ == "__main__":
    tvm.testing.main()
