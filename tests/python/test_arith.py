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


def test_a_size_is_never_negative():
    n, analyzer = tvm.te.size_var("n"), tvm.arith.Analyzer()
    assert analyzer.const_int_bound(n).min_value == 0
    assert analyzer.can_prove(n >= 0) and analyzer.can_prove(tvm.tir.floordiv(n, 4) >= 0)
    assert not analyzer.can_prove(n >= 1) and not analyzer.can_prove(tvm.te.var("m") >= 0)
    assert analyzer.simplify(tvm.tir.max(n, 0)).same_as(n)
    with analyzer.constraint_scope(n < 8):
        assert (analyzer.const_int_bound(n).min_value, analyzer.const_int_bound(n).max_value) == (0, 7)


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
    covered = analyzer.int_set(x * 4 + y, {x: tvm.arith.IntervalSet(0, 7)})
    tvm.testing.assert_prim_expr_equal(covered.min_value, y)
    tvm.testing.assert_prim_expr_equal(covered.max_value, y + 28)
    with pytest.raises(ValueError):
        tvm.testing.assert_prim_expr_equal(covered.min_value, y + 1)


def test_detect_iter_map_finds_splits_and_fuses():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    domains = {x: tvm.ir.Range(0, 8), y: tvm.ir.Range(0, 4)}
    found = tvm.arith.detect_iter_map([x * 4 + y + 3], domains)
    (total,) = found.indices
    assert isinstance(total, tvm.arith.IterSumExpr) and not found.errors
    assert total.args[0].extent == 32 and total.args[0].scale == 1 and total.base == 3
    tvm.ir.assert_structural_equal(tvm.arith.normalize_iter_map_to_expr(total), x * 4 + y + 3)
    halves = tvm.arith.detect_iter_map([x // 2, x % 2], domains).indices
    assert [half.args[0].extent.value for half in halves] == [4, 2]
    tvm.ir.assert_structural_equal(tvm.arith.normalize_iter_map_to_expr(halves[0]), x // 2)
    failed = tvm.arith.detect_iter_map([x, x], domains)
    assert len(failed.indices) == 0 and failed.errors
    assert len(tvm.arith.detect_iter_map([x], domains, check_level="bijective").indices) == 0


def test_inverse_affine_iter_map_goes_back():
    x, y, out = tir.Var("x", "int32"), tir.Var("y", "int32"), tir.Var("out", "int32")
    domains = {x: tvm.ir.Range(0, 8), y: tvm.ir.Range(0, 4)}
    indices = tvm.arith.detect_iter_map([x * 4 + y], domains).indices
    back = tvm.arith.inverse_affine_iter_map(indices, [out])
    analyzer = tvm.arith.Analyzer()
    analyzer.bind(out, tvm.ir.Range(0, 32))
    assert analyzer.can_prove_equal(back[x], out // 4) and analyzer.can_prove_equal(back[y], out % 4)


def test_subspace_divide_gives_outer_and_inner():
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    domains = {i: tvm.ir.Range(0, 8), j: tvm.ir.Range(0, 16)}
    divided = tvm.arith.subspace_divide([i * 16 + j], domains, [j])
    assert len(divided) == 2
    outer, inner = divided[0]
    assert outer.extent == 8 and inner.extent == 16
    assert divided[-1][0].extent == 1 and divided[-1][1].extent == 1
    assert len(tvm.arith.subspace_divide([i + j], domains, [j])) == 0


def test_conditions_bound_variables():
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    deduced = tvm.arith.deduce_bound(a, a + b * 4 < 17, {}, {b: tvm.arith.IntervalSet(1, 3)})
    assert deduced.max_value == 4 and deduced.min_value.name == "neg_inf"
    assert not deduced.is_nothing() and not deduced.is_everything()
    assert [str(part) for part in tvm.arith.detect_linear_equation(a * 4 + b * 6 + 7, [a])] == ["4", "b * 6 + 7"]
    assert len(tvm.arith.detect_linear_equation(a // 2, [a])) == 0
    low, high = tvm.arith.detect_clip_bound(tir.all(a >= 3, a < 9), [a])
    assert low == 3 and high == 8
    low, high = tvm.arith.detect_clip_bound(tir.Not(a < 5), [a])
    assert low == 5 and high is None


def test_update_replaces_what_was_known():
    analyzer = tvm.arith.Analyzer()
    x = tir.Var("x", "int32")
    analyzer.update(x, tvm.arith.ModularSet(4, 1))
    assert analyzer.modular_set(x * 2).base == 2
    analyzer.update(x, tvm.arith.ConstIntBound(0, 7))
    analyzer.update(x, tvm.arith.ConstIntBound(0, 100), override=True)
    assert analyzer.const_int_bound(x).max_value == 100


def test_index_maps_map_indices_shapes_and_back():
    tiled = tir.IndexMap.from_func(lambda i, j: [i // 4, j, i % 4], index_dtype="int32")
    assert [extent.value for extent in tiled.map_shape([16, 3])] == [4, 3, 4]
    assert [str(index) for index in tiled.map_indices([8, 2])] == ["2", "2", "0"]
    back = tiled.inverse([16, 3])
    flat = tir.IndexMap.from_func(lambda a, b, c: [a * 4 + c, b], index_dtype="int32")
    assert back.is_equivalent_to(flat) and not back.is_equivalent_to(tiled)
    _, separators = tir.IndexMap.from_func_with_separators(lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    assert separators == [1]
    padded, predicate = tiled.non_surjective_inverse([14, 3])
    assert len(padded.initial_indices) == 3 and predicate.dtype == "bool"


def test_remainders_that_are_known_are_numbers():
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    with analyzer.constraint_scope(x % 4 == 0):
        assert analyzer.simplify(x % 4) == 0 and analyzer.simplify((x + 1) % 4) == 1
    assert str(analyzer.simplify(x % 4)) == "x % 4"
    analyzer.update(y, tvm.arith.ModularSet(4, 2))
    assert analyzer.simplify(y % 4) == 2


def test_bounds_of_operations_on_bits():
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(-9, 11))
    analyzer.update(y, tvm.arith.ConstIntBound(2, 3))
    int32 = (-2**31, 2**31 - 1)
    for value, ends in ((x >> y, (-3, 2)), (x << y, int32), (y << y, (8, 24)), (x & y, (0, 3)), (y >> x, int32)):
        bound = analyzer.const_int_bound(value)
        assert (bound.min_value, bound.max_value) == ends


def test_regions_are_estimated():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    loops = {x: tvm.ir.Range(0, 16), y: tvm.ir.Range(0, 8)}
    whole = tvm.arith.estimate_region_lower_bound([tvm.ir.Range.from_min_extent(x * 8 + y, 1)], loops, True)
    assert (int(whole[0].min_value), int(whole[0].max_value)) == (0, 127)
    gaps = [tvm.ir.Range.from_min_extent(x * 2, 1)]
    assert tvm.arith.estimate_region_strict_bound(gaps, loops) is None
    assert int(tvm.arith.estimate_region_upper_bound(gaps, loops)[0].max_value) == 30
    assert isinstance(tvm.arith.detect_iter_map([x * 8 + y], loops).indices[0], tvm.arith.IterMapExpr)


def test_regions_of_falling_indices_are_estimated():
    x, loops = tir.Var("x", "int32"), {}
    loops[x] = tvm.ir.Range(0, 4)
    ends = lambda sets: sets and [(int(box.min_value), int(box.max_value)) for box in sets]
    region = lambda first, extent: [tvm.ir.Range.from_min_extent(first, extent)]
    assert ends(tvm.arith.estimate_region_lower_bound(region(9 - x, 1), loops, True)) == [(6, 9)]
    assert ends(tvm.arith.estimate_region_strict_bound(region(9 - x * 2, 2), loops)) == [(3, 10)]
    assert ends(tvm.arith.estimate_region_strict_bound(region(9 - x * 2, 1), loops)) is None  # TVM: 3 to 9, with gaps.
    assert ends(tvm.arith.estimate_region_upper_bound(region(9 - x * 2, 1), loops)) == [(3, 9)]


def test_a_predicate_counts_in_each_dimension_of_an_estimate():
    x, pieces = tir.Var("x", "int32"), []
    for first in (x // 4, x % 4, x):
        pieces.append(tvm.ir.Range.from_min_extent(first, 1))
    boxes = tvm.arith.estimate_region_upper_bound(pieces, {x: tvm.ir.Range(0, 16)}, x < 10)
    assert [(int(box.min_value), int(box.max_value)) for box in boxes] == [(0, 2), (0, 3), (0, 9)]


POS_INF, NEG_INF = tvm.arith.ConstIntBound.POS_INF, tvm.arith.ConstIntBound.NEG_INF


@pytest.mark.parametrize("x_ends, y_ends, text, least, most", [
    ((-9, POS_INF), (2, 4), "x // y", -5, POS_INF),
    ((NEG_INF, 7), (1, 9), "x // y", NEG_INF, 7),
    ((NEG_INF, 4), (-2, 1), "x // y", NEG_INF, POS_INF),
    ((5, POS_INF), (4, POS_INF), "x // y", 0, POS_INF),
    ((5, POS_INF), (4, POS_INF), "x % y", 0, POS_INF),
    ((-9, POS_INF), (2, 4), "tir.truncdiv(x, y)", -4, POS_INF),
    ((NEG_INF, 4), (0, 0), "tir.truncdiv(x, 3)", NEG_INF, 1),
    ((5, POS_INF), (4, POS_INF), "tir.truncmod(x, y)", 0, POS_INF),
    ((1, 5), (10, 20), "tir.truncmod(x, y)", 1, 5),
    ((NEG_INF, 7), (1, 9), "x >> y", NEG_INF, 3),
    ((3, POS_INF), (0, 0), "x >> 2", 0, POS_INF),
    ((0, POS_INF), (0, 4), "x << y", 0, POS_INF),
])
def test_what_is_unbounded_stays_so(x_ends, y_ends, text, least, most):
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(*x_ends))
    analyzer.update(y, tvm.arith.ConstIntBound(*y_ends))
    bound = analyzer.const_int_bound(eval(text, {"x": x, "y": y, "tir": tir}))
    assert (bound.min_value, bound.max_value) == (least, most)


def test_the_infinities_are_each_other_s_negative():
    assert NEG_INF == -POS_INF
    x = tir.Var("x", "int32")
    analyzer = tvm.arith.Analyzer()
    analyzer.update(x, tvm.arith.ConstIntBound(NEG_INF, 3))
    assert analyzer.const_int_bound(x + 1).min_value == NEG_INF
    assert analyzer.const_int_bound(x * -1).max_value == POS_INF


@pytest.mark.parametrize("dtype, ends, least, most", [
    ("float32", (-2, 2), -2, 2),
    ("float64", (0, 2**31 - 1), 0, 2**31 - 1),
    ("float32", (0, 2**31 - 1), -2**31, 2**31 - 1),  # Rounded up, it may be more.
    ("float16", (-2, 2), -2**31, 2**31 - 1),
])
def test_bounds_go_through_floats_that_hold_the_integers(dtype, ends, least, most):
    x, analyzer = tir.Var("x", "int32"), tvm.arith.Analyzer()
    analyzer.update(x, tvm.arith.ConstIntBound(*ends))
    bound = analyzer.const_int_bound(x.astype(dtype).astype("int32"))
    assert (bound.min_value, bound.max_value) == (least, most)


@pytest.mark.parametrize("text, least, most", [
    ("tir.truncdiv(x, 3)", "T.Div(z, 3)", "T.Div(z + 3, 3)"),
    ("tir.truncdiv(x, -3)", "T.Div(z + 3, -3)", "T.Div(z, -3)"),
    ("tir.floordiv(y, n)", "0", "10 // n"),
    ("tir.truncdiv(y, n)", "0", "T.Div(10, n)"),
    ("tir.floormod(x, n)", "0", "n - 1"),
    ("tir.truncmod(y, n)", "0", "10"),
    ("tir.Cast('int64', x)", 'T.Cast("int64", z)', 'T.Cast("int64", z + 3)'),
    ("x < 5", "T.bool(False)", "T.bool(True)"),
    ("tir.all(x < 5, x > 2)", "T.bool(False)", "T.bool(True)"),
])
def test_int_sets_of_what_no_sum_takes_apart(text, least, most):
    names = {name: tir.Var(name, "int32") for name in "xyz"} | {"n": tir.Var("n", "int32"), "tir": tir}
    analyzer = tvm.arith.Analyzer()
    analyzer.update(names["n"], tvm.arith.ConstIntBound(1, POS_INF))
    domains = {names["x"]: tvm.arith.IntervalSet(names["z"], names["z"] + 3), names["y"]: tvm.arith.IntervalSet(0, 10)}
    found = analyzer.int_set(eval(text, names), domains)
    assert (str(found.min_value), str(found.max_value)) == (least, most)


def test_equal_forms_are_equal():
    x, y, analyzer = tir.Var("x", "int32"), tir.Var("y", "int32"), tvm.arith.Analyzer()
    assert analyzer.can_prove_equal(tir.max(x, y) + tir.min(x, y), x + y)
    assert not analyzer.can_prove_equal(tir.max(x, y) + tir.min(x, y), x)


def test_extensions_are_on_by_analyzer():
    Extension, analyzer = tvm.arith.Extension, tvm.arith.Analyzer()
    assert analyzer.enabled_extensions == Extension.NoExtensions
    x, y, z = (tir.Var(name, "int32") for name in "xyz")
    for extensions, is_known in ((Extension.NoExtensions, False), (Extension.TransitivelyProveInequalities, True)):
        analyzer.enabled_extensions = extensions
        assert analyzer.enabled_extensions == extensions
        with analyzer.constraint_scope(tir.all(x < y, y < z)):
            assert analyzer.can_prove(x < z, tvm.arith.ProofStrength.SYMBOLIC_BOUND) == is_known


def test_facts_have_texts():
    assert str(tvm.arith.ConstIntBound(0, 4)) == "ConstIntBound[0,4]"
    assert str(tvm.arith.ConstIntBound(NEG_INF, POS_INF)) == "ConstIntBound[neg_inf,pos_inf]"
    x, analyzer = tir.Var("x", "int32"), tvm.arith.Analyzer()
    assert not analyzer.const_int_bound_is_bound(x)
    analyzer.bind(x, tvm.ir.Range(0, 4))
    assert analyzer.const_int_bound_is_bound(x)


def test_a_map_that_is_none_has_no_padding():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    domain = {x: tvm.ir.Range(0, 12), y: tvm.ir.Range(0, 8)}
    found = tvm.arith.detect_iter_map([x * y], domain)
    assert len(found.indices) == 0 and found.errors and found.padding_predicate is None
    assert tvm.arith.detect_iter_map([x, y], domain).padding_predicate == tir.const(False)


def test_a_known_truncated_remainder_is_one():
    x, analyzer = tir.Var("x", "int32"), tvm.arith.Analyzer()
    for remainder, base in ((1, 1), (-2, 3)):
        with analyzer.constraint_scope(tir.truncmod(x, 5) == remainder):
            assert (analyzer.modular_set(x).coeff, analyzer.modular_set(x).base) == (5, base)
    assert analyzer.modular_set(x).coeff == 1


@pytest.mark.parametrize("x_ends, y_ends, text, least, most", [
    ((-9, 4), (4, 10), "x // y", -3, 1),
    ((0, 15), (0, 7), "x // y", 0, 15),
    ((-10, -1), (-3, 5), "x // y", -10, 10),
    ((0, 15), (0, 7), "x % y", 0, 6),
    ((-10, -1), (-3, 5), "x % y", -2, 4),
    ((0, 3), (4, 10), "x % y", 0, 3),
    ((0, 15), (0, 7), "tir.truncdiv(x, y)", 0, 15),
])
def test_bounds_of_quotients_and_remainders_by_variables(x_ends, y_ends, text, least, most):
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(*x_ends))
    analyzer.update(y, tvm.arith.ConstIntBound(*y_ends))
    bound = analyzer.const_int_bound(eval(text, {"x": x, "y": y, "tir": tir}))
    assert (bound.min_value, bound.max_value) == (least, most)


@pytest.mark.parametrize("text, coeff, base", [
    ("x * y", 2, 0), ("x * x", 4, 1), ("tir.Select(z > 0, y, y * 2)", 2, 0), ("tir.floormod(z * 6 + 1, 4)", 2, 1), ("x << 1", 8, 2),
    ("(x * 4) >> 2", 4, 1), ("tir.max(x, x + 4)", 4, 1)])
def test_remainders_of_products_choices_and_shifts(text, coeff, base):
    analyzer, (x, y, z) = tvm.arith.Analyzer(), (tir.Var(name, "int32") for name in "xyz")
    analyzer.update(x, tvm.arith.ModularSet(4, 1))
    analyzer.update(y, tvm.arith.ModularSet(6, 2))
    modular = analyzer.modular_set(eval(text, {"x": x, "y": y, "z": z, "tir": tir}))
    assert (modular.coeff, modular.base) == (coeff, base)


def test_ends_of_products_follow_the_sign_of_what_stays():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer, domain = tvm.arith.Analyzer(), {x: tvm.arith.IntervalSet(-3, 5)}
    covered = analyzer.int_set(x * y + 1, domain)
    for value in (-7, 0, 4):
        ends = [analyzer.simplify(tir.stmt_functor.substitute(end, {y: tir.IntImm("int32", value)})).value
                for end in (covered.min_value, covered.max_value)]
        products = [k * value + 1 for k in range(-3, 6)]
        assert ends == [min(products), max(products)]
    analyzer.update(y, tvm.arith.ConstIntBound(-100, -1))
    below = analyzer.int_set(x * y, domain)
    tvm.ir.assert_structural_equal(below.min_value, y * 5)
    tvm.ir.assert_structural_equal(below.max_value, y * -3)


def test_inverse_maps_have_variables_that_do_not_begin_at_0():
    x, y, outputs = tir.Var("x", "int32"), tir.Var("y", "int32"), [tir.Var("o0", "int32"), tir.Var("o1", "int32")]
    domain = {x: tvm.ir.Range.from_min_extent(2, 5), y: tvm.ir.Range.from_min_extent(-8, 16)}
    found = tvm.arith.detect_iter_map([x + 3, y // 4 * 4 + y % 4], domain)
    inverse = tvm.arith.inverse_affine_iter_map(found.indices, outputs)
    tvm.ir.assert_structural_equal(inverse[x], outputs[0] - 3)
    tvm.ir.assert_structural_equal(inverse[y], outputs[1])


if __name__ == "__main__":
    tvm.testing.main()


@pytest.mark.parametrize("dtype, value, known, bound", [
    ("int8", (0, 10), None, (0, 10)),
    ("int8", (0, 300), None, (-128, 127)),  # TVM: (0, 127), but 200 becomes -56
    ("uint8", (0, 255), None, (0, 255)),
    ("uint8", (-5, 10), None, (0, 255)),
    ("int64", (-5, 10), (4, 1), (-5, 10)),
    ("int8", (0, 300), (4, 1), (-128, 127)),
])
def test_a_cast_that_keeps_the_value_keeps_its_bound(dtype, value, known, bound):
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    analyzer.update(x, tvm.arith.ConstIntBound(*value))
    found = analyzer.const_int_bound(tir.Cast(dtype, x))
    assert (found.min_value, found.max_value) == bound
    if known is not None:
        analyzer.update(x, tvm.arith.ModularSet(*known))
        modular = analyzer.modular_set(tir.Cast(dtype, x))
        assert (modular.coeff, modular.base) == known


@pytest.mark.parametrize("make, known, modular", [
    (lambda x: tir.Cast("int64", x) * 3 + 2, (4, 1), (12, 5)),
    (lambda x: tir.Cast("uint8", x), (12, 7), (4, 3)),  # TVM: (12, 7), but 259 becomes 3
    (lambda x: tir.Cast("uint8", x), (7, 3), (1, 0)),
    (lambda x: x & 7, (16, 3), (8, 3)),
    (lambda x: x & 15, (4, 1), (4, 1)),
    (lambda x: x & 6, (4, 1), (1, 0)),
])
def test_remainders_go_through_casts_and_masks(make, known, modular):
    analyzer, x = tvm.arith.Analyzer(), tir.Var("x", "int32")
    analyzer.update(x, tvm.arith.ModularSet(*known))
    found = analyzer.modular_set(make(x))
    assert (found.coeff, found.base) == modular


def test_lets_and_vectors_of_indices_have_bounds():
    analyzer, x, y = tvm.arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")
    analyzer.update(y, tvm.arith.ConstIntBound(0, 3))
    analyzer.update(y, tvm.arith.ModularSet(4, 1))

    def bound(e):
        found = analyzer.const_int_bound(e)
        return found.min_value, found.max_value

    assert bound(tir.Let(x, y + 1, x * 2)) == (2, 8) and bound(x) == (-2**31, 2**31 - 1)
    assert analyzer.modular_set(tir.Let(x, y + 1, x * 2)).coeff == 8
    assert bound(tir.Ramp(y, 2, 4)) == (0, 9) and bound(tir.Ramp(y, -2, 4)) == (-6, 3)
    assert bound(tir.Broadcast(y, 4)) == (0, 3)


@pytest.mark.parametrize("condition, low, high", [
    (lambda a, b, c, d: -b * a + c - d >= 0, None, lambda b, c, d: (d - c) // (b * -1)),
    (lambda a, b, c, d: a * 4 + b < 63, None, lambda b, c, d: (62 - b) // 4),
    (lambda a, b, c, d: a * -4 + b < 63, lambda b, c, d: (62 - b) // -4 + 1, None),
    (lambda a, b, c, d: a + d <= b, None, lambda b, c, d: b - d)])
def test_bounds_are_of_the_variables_that_are_not_relaxed(condition, low, high):
    a, b, c, d = (tir.Var(name, "int32") for name in "abcd")
    hints = {b: tvm.arith.IntervalSet(2, 3), c: tvm.arith.IntervalSet(10, 15), d: tvm.arith.IntervalSet(3, 3)}
    deduced = tvm.arith.deduce_bound(a, condition(a, b, c, d), hints, {})
    for end, expected in ((deduced.min_value, low), (deduced.max_value, high)):
        if expected is not None:
            tvm.ir.assert_structural_equal(end, expected(b, c, d))
