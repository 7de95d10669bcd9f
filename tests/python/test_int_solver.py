"""arith.solve_linear_equations and solve_linear_inequalities: forms of small systems, and the meaning of random ones."""
import itertools
import random

import pytest
import tvm
import tvm.testing
from tvm import arith, tir

X, Y, Z = (tir.Var(name, "int32") for name in "xyz")


def value(e, point):
    """e where the variables have the values of `point`."""
    if isinstance(e, int):
        return e
    result = arith.Analyzer().simplify(tir.stmt_functor.substitute(e, {var: tir.IntImm("int32", number) for var, number in point.items()}))
    assert isinstance(result, tir.IntImm), f"{e} at {point} is {result}"
    return result.value


def points(ranges):
    names = list(ranges)
    for numbers in itertools.product(*(range(low, low + extent) for low, extent in ranges.values())):
        yield dict(zip(names, numbers))


def ranges_of(ends):
    return {var: tvm.ir.Range.from_min_extent(tir.IntImm("int32", low), tir.IntImm("int32", extent)) for var, (low, extent) in ends.items()}


def in_range(rng, number, point):
    low = value(rng.min, point)
    return low <= number < low + value(rng.extent, point)


def test_equations_with_one_solution_have_no_variables_left():
    solved = arith.solve_linear_equations([tir.EQ(X + Y, 20), tir.EQ(X - Y, 10)], [X, Y])
    assert len(solved.dst.variables) == 0 and len(solved.dst.ranges) == 0 and len(solved.dst.relations) == 0
    assert solved.src_to_dst[X] == 15 and solved.src_to_dst[Y] == 5


def test_testing_checks_that_a_transform_is_consistent():
    ranges = ranges_of({X: (-5, 15), Y: (0, 11)})
    solved = arith.solve_linear_equations([tir.EQ(X + Y * 2, 4)], [X, Y], ranges)
    tvm.testing.check_int_constraints_trans_consistency(solved)
    (free,) = solved.dst.variables
    wrong = arith.IntConstraintsTransform(solved.src, solved.dst, {X: free, Y: free}, solved.dst_to_src)
    with pytest.raises(AssertionError):
        tvm.testing.check_int_constraints_trans_consistency(wrong)


def test_equations_without_solution_say_false():
    solved = arith.solve_linear_equations([tir.EQ(X + Y, 20), tir.EQ(X * 2 + Y * 2, 41)], [X, Y], {})
    assert len(solved.dst.variables) == 0 and len(solved.src_to_dst) == 0
    assert [bool(relation.value) for relation in solved.dst.relations] == [False]


def test_equations_that_leave_a_variable_free_give_it_a_range():
    solved = arith.solve_linear_equations([tir.EQ(X + Y, 0)], [X, Y], ranges_of({X: (-5, 15), Y: (0, 11)}))
    (free,) = solved.dst.variables
    assert free.name == "n0" and solved.dst.ranges[free].min == -10 and solved.dst.ranges[free].extent == 11
    tvm.ir.assert_structural_equal(solved.src_to_dst[X], free)
    tvm.ir.assert_structural_equal(solved.src_to_dst[Y], free * -1)
    tvm.ir.assert_structural_equal(solved.dst_to_src[free], 0 - Y)
    (condition,) = solved.dst.relations  # What the range of y does not say.
    tvm.ir.assert_structural_equal(condition, tir.LE(tir.IntImm("int32", -5), free))


def test_a_variable_that_no_equation_has_keeps_its_name():
    solved = arith.solve_linear_equations([tir.EQ(X, 3)], [X, Y])
    assert solved.src_to_dst[X] == 3 and [var.name for var in solved.dst.variables] == ["n0_y"]


def check_transform(solved, ends, relations):
    """Both sides have the same points."""
    source = [point for point in points(ends) if all(value(relation, point) for relation in relations)]
    free = list(solved.dst.variables)
    for point in source:
        new = {var: value(solved.dst_to_src[var], point) for var in free}
        assert all(value(relation, new) for relation in solved.dst.relations)
        assert all(in_range(solved.dst.ranges[var], new[var], new) for var in free if var in solved.dst.ranges)
        assert all(value(solved.src_to_dst[var], new) == number for var, number in point.items())
    if any(var not in solved.dst.ranges for var in free) or len(solved.src_to_dst) == 0:
        return len(source)
    count, pending = 0, [{}]
    for var in reversed(free):  # Ranges are in terms of the variables after it.
        pending = [{**point, var: number} for point in pending for low in [value(solved.dst.ranges[var].min, point)]
                   for number in range(low, low + value(solved.dst.ranges[var].extent, point))]
    for new in pending:
        count += all(value(relation, new) for relation in solved.dst.relations)
    assert count == len(source)
    return count


def random_sum(rng, variables):
    total = tir.IntImm("int32", rng.randint(-6, 6))
    for var in variables:
        total = total + var * rng.randint(-3, 3)
    return total


def test_random_equations_keep_their_solutions():
    num_solutions = 0
    for seed in range(14):
        rng = random.Random(seed)
        ends = {var: (rng.randint(-4, 1), rng.randint(1, 7)) for var in (X, Y, Z)}
        relations = [tir.EQ(random_sum(rng, ends), 0) for _ in range(rng.randint(1, 3))]
        relations = [tir.EQ(relation, 0) if isinstance(relation, int) else relation for relation in relations]
        solved = arith.solve_linear_equations(relations, list(ends), ranges_of(ends))
        count = check_transform(solved, ends, relations)
        assert len(solved.src_to_dst) != 0 or count == 0, f"seed {seed}"
        num_solutions += count
    assert num_solutions >= 5


def test_inequalities_become_ranges():
    solved = arith.solve_linear_inequalities([tir.GE(X + Y, 0), tir.LE(X, 3)], [X, Y], ranges_of({Y: (0, 8)}))
    assert isinstance(solved, arith.IntConstraints)
    tvm.ir.assert_structural_equal(solved.ranges[X].min, Y * -1)
    assert solved.ranges[Y].min == 0 and solved.ranges[Y].extent == 8
    equal = arith.solve_linear_inequalities([tir.EQ(X, Y + 2)], [X, Y], ranges_of({Y: (0, 8)}))
    tvm.ir.assert_structural_equal(equal.ranges[X].min, Y + 2)
    assert equal.ranges[X].extent == 1


def test_inequalities_that_exclude_each_other_say_false():
    solved = arith.solve_linear_inequalities([tir.GE(X, 7), tir.LE(X, 3)], [X], {}, deskew_range=True)
    assert [bool(relation.value) for relation in solved.dst.relations] == [False]


def test_deskewed_ranges_begin_at_zero():
    ranges = ranges_of({X: (3, 10), Y: (-2, 5)})
    solved = arith.solve_linear_inequalities([tir.LE(X + Y, 100)], [X, Y], ranges, deskew_range=True)
    assert [var.name for var in solved.dst.variables] == ["x.shifted", "y.shifted"]
    shifted = solved.dst.variables[0]
    assert solved.dst.ranges[shifted].min == 0 and solved.dst.ranges[shifted].extent == 10
    tvm.ir.assert_structural_equal(solved.src_to_dst[X], shifted + 3)
    tvm.ir.assert_structural_equal(solved.dst_to_src[shifted], X - 3)


def test_random_inequalities_keep_their_points():
    num_points = 0
    for seed in range(14):
        rng = random.Random(seed)
        ends = {var: (rng.randint(-3, 1), rng.randint(2, 5)) for var in (X, Y)}
        relations = [rng.choice([tir.LE, tir.LT, tir.GE])(random_sum(rng, ends), tir.IntImm("int32", rng.randint(-3, 6)))
                     for _ in range(rng.randint(1, 3))]
        solved = arith.solve_linear_inequalities(relations, list(ends), ranges_of(ends), deskew_range=True)
        num_points += check_transform(solved, ends, relations)
        box = arith.solve_linear_inequalities(relations, list(ends), ranges_of(ends))
        for point in points(ends):
            inside = len(box.variables) != 0 and all(value(relation, point) for relation in box.relations) and \
                all(in_range(rng, point[var], point) for var, rng in box.ranges.items())
            assert inside == all(value(relation, point) for relation in relations), f"seed {seed}, {point}"
    assert num_points > 40


def test_bounds_of_a_group_give_the_best_range():
    group = arith.IntGroupBounds.from_range(tvm.ir.Range(3, 9))
    assert group.lower[0] == 3 and group.upper[0] == 8 and len(group.equal) == 0
    assert group.find_best_range().extent == 6
    assert arith.IntGroupBounds(2, [tir.IntImm("int32", 3)], [], [tir.IntImm("int32", 9)]).find_best_range().min == 2
    assert arith.IntGroupBounds(1, [], [], []).find_best_range() is None


def test_coefficients_that_leave_int64_are_refused():
    a, b = (tir.Var(name, "int64") for name in "ab")
    huge = [tir.IntImm("int64", 2**62 - 57), tir.IntImm("int64", 2**61 - 1)]
    with pytest.raises(tvm.TVMError, match="coefficients leave int64"):
        arith.solve_linear_equations([tir.EQ(a * huge[0] + b * huge[1], a * 3), tir.EQ(a * huge[1] + b * 7, b)], [a, b])
    with pytest.raises(tvm.TVMError, match="coefficients leave int64"):
        arith.solve_linear_inequalities([tir.LE(a * huge[0], b), tir.LE(b, a * huge[1])], [a, b])


def test_a_problem_is_solved_as_its_parts_are():
    problem = arith.IntConstraints([X], ranges_of({X: (0, 8)}), [tir.LE(X, 3)])
    solved = arith.solve_linear_inequalities(problem)
    assert solved.ranges[X].min == 0 and solved.ranges[X].extent == 4
    assert arith.solve_linear_inequalities(problem, deskew_range=True).src.variables[0].same_as(X)
    assert arith.solve_linear_equations(arith.IntConstraints([X], {}, [tir.EQ(X, 3)])).src_to_dst[X] == 3


def test_what_is_no_index_has_no_linear_form():
    f = tir.Var("f", "float32")
    assert len(arith.detect_linear_equation(f * 2.0, [f])) == 0 and len(arith.detect_linear_equation(f, [f])) == 0
    coefficient, rest = arith.detect_linear_equation(f + 1.0, [X])
    assert coefficient == 0 and tvm.ir.structural_equal(rest, f + 1.0)
    solved = arith.solve_linear_equations([tir.EQ(f, 2.0), tir.EQ(X, 1)], [X])
    assert solved.src_to_dst[X] == 1 and len(solved.dst.relations) == 1
    assert len(arith.solve_linear_inequalities([tir.LT(f, 2.0)], [X]).relations) == 1
