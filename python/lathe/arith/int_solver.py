"""Systems of linear equations and inequalities over integers."""
import itertools

from lathe import _lib
from lathe.arith.bound import detect_linear_equation
from lathe.ir.expr import Range
from lathe.ir.container import Array, Map
from lathe.tir import expr as tir

_STEPS = 3  # Of simplification: canonical, rewrite, canonical, rewrite.


class IntGroupBounds:
    """What bounds coef * var: all of lower, equal and upper hold."""

    def __init__(self, coef, lower, equal, upper):
        self.coef, self.lower, self.equal, self.upper = _expr(coef), Array(lower), Array(equal), Array(upper)

    @staticmethod
    def from_range(rng):
        one = tir.IntImm(rng.min.dtype, 1)
        if _is_int(rng.extent, 1):
            return IntGroupBounds(one, [], [rng.min], [])
        return IntGroupBounds(one, [rng.min], [], [_lib.Analyzer().simplify(rng.min + rng.extent - 1)])

    def find_best_range(self, ranges=None):
        """The narrowest range between a lower and an upper bound, of var; None without either."""
        ranges = dict(ranges or {})
        analyzer = _analyzer_of(ranges)
        lowers, uppers = [*self.equal, *self.lower], [*self.equal, *self.upper]
        if len(lowers) == len(uppers) == 1 and _is_int(self.coef, 1):
            return Range(analyzer.simplify(lowers[0]), analyzer.simplify(uppers[0] + 1))
        best = None
        for low, high in itertools.product(lowers, uppers):
            least, most = self._least_and_span(analyzer, ranges, low, high)
            if most is not None and (best is None or analyzer.can_prove(most < best[1])):
                best = (least, most)
        return None if best is None else Range.from_min_extent(best[0], analyzer.simplify(best[1] + 1))

    def _least_and_span(self, analyzer, ranges, low, high):
        """The least value of var, and how far the greatest lies above it at most."""
        least = analyzer.simplify(_floordiv(low + self.coef - 1, self.coef), _STEPS)
        spans = [_floordiv(high - low, self.coef), _floordiv(high, self.coef) - least]
        tops = [_greatest(analyzer.simplify(span, _STEPS), ranges) for span in spans]
        if tops[0] is None or (tops[1] is not None and analyzer.can_prove(tops[1] < tops[0])):
            tops.reverse()
        return least, tops[0]


class IntConstraints:
    """Variables, ranges of some, and conditions that hold between them."""

    def __init__(self, variables, ranges, relations):
        self.variables, self.ranges = Array(variables or []), Map(dict(ranges or {}))
        self.relations = Array(relations or [])


class IntConstraintsTransform:
    """The same constraints in other variables, and how either are made from the others."""

    def __init__(self, src, dst, src_to_dst, dst_to_src):
        self.src, self.dst, self.src_to_dst, self.dst_to_src = src, dst, Map(src_to_dst), Map(dst_to_src)


def solve_linear_equations(equations, variables=None, ranges=None):
    """An IntConstraintsTransform to as few variables as the equations leave free: none where they have one solution. Its
    conditions are what the ranges say of them, and what else has to hold; False: there is no solution."""
    return _EquationSolver(_problem(equations, variables, ranges)).solve()


def solve_linear_inequalities(equations, variables=None, ranges=None, deskew_range=False):
    """Ranges of the variables, in terms of those after them, and the conditions that no range says, as IntConstraints;
    with deskew_range as an IntConstraintsTransform to variables whose ranges begin at 0."""
    problem = _problem(equations, variables, ranges)
    return _deskewed(problem) if deskew_range else _in_ranges(problem)


# ---- What both need ---------------------------------------------------------------------------------------------------


def _expr(value):
    return tir.IntImm("int32", value) if isinstance(value, int) else value


def _is_int(e, value):
    return isinstance(e, tir.IntImm) and e.value == value


def _floordiv(a, b):
    return _lib.Analyzer().simplify(a // b) if isinstance(a // b, tir.IntImm) else a // b


def _analyzer_of(ranges):
    analyzer = _lib.Analyzer()
    for var, rng in ranges.items():
        analyzer.bind(var, rng)
    return analyzer


def _set_of(e, ranges):
    domains = {var: _lib.IntervalSet(rng.min, rng.min + rng.extent - 1) for var, rng in ranges.items()}
    covered = _lib.Analyzer().int_set(e, domains)
    infinite = [str(end) in ("neg_inf", "pos_inf") for end in (covered.min_value, covered.max_value)]
    return covered, infinite


def _greatest(e, ranges):
    covered, infinite = _set_of(e, ranges)
    return None if infinite[1] else _lib.Analyzer().simplify(covered.max_value)


def _problem(equations, variables, ranges):
    if isinstance(equations, IntConstraints):
        return equations
    return IntConstraints(variables, ranges, equations)


def _unsolvable():
    return IntConstraints([], {}, [tir.IntImm("bool", 0)])


# ---- Equations --------------------------------------------------------------------------------------------------------


def _bezout(a, b):
    """g, x, y: a * x + b * y == g, the greatest common divisor."""
    x, next_x, rest, next_rest = 1, 0, abs(a), b
    while next_rest != 0:
        quotient = abs(rest) // abs(next_rest) * (1 if (rest < 0) == (next_rest < 0) else -1)
        rest, next_rest = next_rest, rest - quotient * next_rest
        x, next_x = next_x, x - quotient * next_x
    x = x if a >= 0 else -x
    return rest, x, (rest - x * a) // b if b != 0 else 1


class _EquationSolver:
    """matrix * new == right, where new are sums of the variables and variables[i] is the sum of basis[i][k] * new[k]. Steps
    on rows and columns make the matrix diagonal."""

    def __init__(self, problem):
        self.problem, self.analyzer = problem, _analyzer_of(problem.ranges)
        count = len(problem.variables)
        self.basis = [[int(i == k) for k in range(count)] for i in range(count)]
        self.new = list(problem.variables)
        self.matrix, self.right, self.others = [], [], []
        for relation in problem.relations:
            self._add(relation)

    def _add(self, relation):
        parts = []
        if isinstance(relation, tir.EQ):
            parts = detect_linear_equation(self.analyzer.simplify(relation.a - relation.b), list(self.problem.variables))
        if len(parts) == 0 or not all(isinstance(part, tir.IntImm) for part in parts[:-1]):
            self.others.append(relation)
            return
        self.matrix.append([part.value for part in parts[:-1]])
        self.right.append(self.analyzer.simplify(0 - parts[-1]))

    def _swap_in(self, at):
        """Brings what is nonzero to (at, at): the smallest of its column, or else of its row."""
        rows = [i for i in range(at, len(self.matrix)) if self.matrix[i][at] != 0]
        if rows:
            best = min(rows, key=lambda i: abs(self.matrix[i][at]))
            for items in (self.matrix, self.right):
                items[at], items[best] = items[best], items[at]
            return
        for k in range(at + 1, len(self.new)):
            if self.matrix[at][k] != 0:
                for row in [*self.matrix, *self.basis]:
                    row[at], row[k] = row[k], row[at]
                self.new[at], self.new[k] = self.new[k], self.new[at]
                return

    @staticmethod
    def _factors(pivot, value):
        """g, a, b: a * pivot + b * value == g; the pivot itself where it divides."""
        return _bezout(pivot, value) if value % pivot != 0 else (pivot, 1, 0)

    def _clear_column(self, at):
        for i in range(at + 1, len(self.matrix)):
            if self.matrix[i][at] == 0:
                continue
            pivot, value = self.matrix[at][at], self.matrix[i][at]
            g, a, b = self._factors(pivot, value)
            combine = lambda x, y: (x * a + y * b, x * (value // g) - y * (pivot // g))  # noqa: E731
            rows = [combine(x, y) for x, y in zip(self.matrix[at], self.matrix[i])]
            self.matrix[at], self.matrix[i] = [row[0] for row in rows], [row[1] for row in rows]
            self.right[at], self.right[i] = map(self.analyzer.simplify, combine(self.right[at], self.right[i]))

    def _clear_row(self, at):
        """True: the column may have something below again."""
        changed = False
        for k in range(at + 1, len(self.new)):
            if self.matrix[at][k] == 0:
                continue
            pivot, value = self.matrix[at][at], self.matrix[at][k]
            changed |= value % pivot != 0
            g, a, b = self._factors(pivot, value)
            for row in [*self.matrix[at:], *self.basis]:
                row[at], row[k] = a * row[at] + b * row[k], value // g * row[at] - pivot // g * row[k]
            x, y = self.new[at], self.new[k]
            self.new[at], self.new[k] = x * (pivot // g) + y * (value // g), x * b - y * a
        return changed

    def _diagonalize(self):
        at = 0
        while at < min(len(self.matrix), len(self.new)):
            self._swap_in(at)
            if self.matrix[at][at] == 0:
                at += 1
                continue
            self._clear_column(at)
            if not self._clear_row(at):
                at += 1

    def _pivot(self, i):
        return self.matrix[i][i] if i < min(len(self.matrix), len(self.new)) else 0

    def _solvability(self):
        """What has to hold for a solution to exist."""
        for i, right in enumerate(self.right):
            pivot = self._pivot(i)
            yield self.analyzer.simplify((right % abs(pivot) if pivot != 0 else right).equal(0))

    def _values(self):
        """What each of `new` is; a new variable where any value will do."""
        values, to_old = [], {}
        for i, old in enumerate(self.new):
            pivot = self._pivot(i)
            if pivot != 0:
                right = self.right[i] if pivot > 0 else 0 - self.right[i]
                values.append(self.analyzer.simplify(right // abs(pivot)))
                continue
            old = self.analyzer.simplify(old)
            var = tir.Var(f"n{len(to_old)}" + (f"_{old.name}" if isinstance(old, tir.Var) else ""), old.dtype)
            values.append(var)
            to_old[var] = old
        return values, to_old

    def _new_ranges(self, to_old):
        mine, ranges = set(self.problem.variables), dict(self.problem.ranges.items())
        result = {var: rng for var, rng in ranges.items() if var not in mine}
        for var, old in to_old.items():
            covered, infinite = _set_of(old, ranges)
            if not any(infinite):
                extent = _lib.Analyzer().simplify(covered.max_value - covered.min_value + 1)
                result[var] = Range.from_min_extent(_lib.Analyzer().simplify(covered.min_value), extent)
        return result

    def solve(self):
        self._diagonalize()
        conditions = list(self._solvability())
        if any(_is_int(condition, 0) for condition in conditions):
            return IntConstraintsTransform(self.problem, _unsolvable(), {}, {})
        relations = [condition for condition in conditions if not _is_int(condition, 1)]
        values, to_old = self._values()
        to_new = {}
        for var, factors in zip(self.problem.variables, self.basis):
            total = tir.IntImm(var.dtype, 0)
            for factor, value in zip(factors, values):
                total = total + value * factor
            to_new[var] = self.analyzer.simplify(total)
        ranges = self._new_ranges(to_old)
        analyzer = _analyzer_of(ranges)
        for var in self.problem.variables:
            if var not in self.problem.ranges:
                continue
            rng = self.problem.ranges[var]
            ends = (tir.LE(rng.min, to_new[var]), to_new[var] < rng.min + rng.extent)
            relations += [end for end in map(analyzer.simplify, map(_expr, ends)) if not _is_int(end, 1)]
        relations += [_lib.substitute(other, to_new) for other in self.others]
        return IntConstraintsTransform(self.problem, IntConstraints(list(to_old), ranges, relations), to_new, to_old)


# ---- Inequalities -----------------------------------------------------------------------------------------------------


def _below_zero(condition):
    """The condition as e <= 0 or e == 0, where it is a comparison of integers."""
    kind, analyzer = type(condition), _lib.Analyzer()
    if kind in (tir.GT, tir.GE):
        condition = (tir.LT if kind is tir.GT else tir.LE)(condition.b, condition.a)
        kind = type(condition)
    if kind not in (tir.LT, tir.LE, tir.EQ, tir.NE):
        return condition
    difference = analyzer.simplify(condition.a - condition.b + (1 if kind is tir.LT else 0))
    return (tir.LE if kind is tir.LT else kind)(difference, tir.IntImm(difference.dtype, 0))


def _add_inequality(found, new, analyzer):
    """Unless others say it; drops those that it says."""
    if analyzer.can_prove(new) or any(_same(new, old) for old in found):
        return
    if isinstance(new, tir.LE):
        if any(isinstance(old, tir.LE) and analyzer.can_prove(new.a - old.a <= 0) for old in found):
            return
        found[:] = [old for old in found if not (isinstance(old, tir.LE) and analyzer.can_prove(old.a - new.a <= 0))]
    found.append(new)


def _same(a, b):
    return bool(_lib.structural_equal(a, b, False))


def _add_bound(bounds, new, analyzer, is_better):
    if any(is_better(analyzer, old, new) for old in bounds):
        return
    bounds[:] = [old for old in bounds if not is_better(analyzer, new, old)]
    bounds.append(new)


class _Elimination:
    """Each variable in turn leaves the inequalities: each that bounds it from above with each that bounds it from below."""

    def __init__(self, problem):
        self.problem, self.analyzer = problem, _analyzer_of(problem.ranges)
        self.bounds, self.others, left = {}, [], []
        for relation in problem.relations:
            _add_inequality(left, _below_zero(self.simple(relation)), self.analyzer)
        for var in problem.variables:
            left = self._eliminate(var, left)
        self.relations = [relation for relation in map(self.simple, left) if not _is_int(relation, 1)]
        if any(_is_int(relation, 0) for relation in self.relations):
            self.relations = [tir.IntImm("bool", 0)]
        self.relations += self.others

    def simple(self, e):
        return self.analyzer.simplify(e, _STEPS)

    def _classify(self, var, left, above, below):
        """What of `left` does not have the variable. `above`, `below`: c and e of c * var + e <= 0, c > 0 and c < 0."""
        kept = []
        for relation in left:
            is_linear = isinstance(relation, (tir.LE, tir.EQ))
            parts = detect_linear_equation(relation.a, [var]) if is_linear else []
            if len(parts) == 0 or not isinstance(parts[0], tir.IntImm):
                self.others.append(relation)
                continue
            factor, rest = parts[0].value, parts[1]
            if factor == 0:
                _add_inequality(kept, relation, self.analyzer)
            elif isinstance(relation, tir.LE):
                (above if factor > 0 else below).append((factor, rest))
            else:
                above.append((abs(factor), rest if factor > 0 else 0 - rest))
                below.append((-abs(factor), 0 - rest if factor > 0 else rest))
        return kept

    def _eliminate(self, var, left):
        above, below = [], []
        if var in self.problem.ranges:
            rng = self.problem.ranges[var]
            below.append((-1, self.simple(rng.min)))
            above.append((1, self.simple(0 - (rng.min + rng.extent - 1))))
        kept = self._classify(var, left, above, below)
        for (high, high_rest), (low, low_rest) in itertools.product(above, below):
            g = _bezout(high, -low)[0]
            total = low_rest * (high // g) + high_rest * (-low // g)
            _add_inequality(kept, _below_zero(self.simple(tir.LE(total, tir.IntImm(total.dtype, 0)))), self.analyzer)
        self.bounds[var] = self._bounds(var, above, below)
        return kept

    def _bounds(self, var, above, below):
        common = 1
        for factor, _ in [*above, *below]:
            common = common * abs(factor) // _bezout(common, abs(factor))[0]
        uppers, lowers = [], []
        for factor, rest in above:
            _add_bound(uppers, self.simple(rest * (-common // factor)), self.analyzer, lambda a, x, y: a.can_prove(x - y <= 0))
        for factor, rest in below:
            _add_bound(lowers, self.simple(rest * (common // -factor)), self.analyzer, lambda a, x, y: a.can_prove(x - y >= 0))
        equal = [high for high in uppers if any(_same(high, low) for low in lowers)]
        is_equal = lambda e: any(_same(e, other) for other in equal)  # noqa: E731
        equal.sort(key=lambda e: len(str(e)))
        return IntGroupBounds(tir.IntImm(var.dtype, common), [e for e in lowers if not is_equal(e)], equal,
                              [e for e in uppers if not is_equal(e)])

    def conditions(self):
        """All that was found, the last variable's first."""
        for var in self.problem.variables:
            bounds = self.bounds[var]
            scaled = var * bounds.coef
            for kind, values in ((tir.EQ, bounds.equal), (tir.GE, bounds.lower), (tir.LE, bounds.upper)):
                yield from (kind(scaled, value) for value in values)
        yield from self.relations


def _with_range(bounds, rng, analyzer):
    own = IntGroupBounds.from_range(rng)
    scaled = [[analyzer.simplify(e * bounds.coef) for e in values] for values in (own.lower, own.equal, own.upper)]
    return IntGroupBounds(bounds.coef, [*scaled[0], *bounds.lower], [*scaled[1], *bounds.equal], [*scaled[2], *bounds.upper])


def _is_empty(rng, analyzer):
    return analyzer.can_prove(rng.extent <= 0)


def _in_ranges(problem):
    solved = _Elimination(problem)
    found, known = {}, dict(problem.ranges.items())
    for var in reversed(list(problem.variables)):
        analyzer, bounds = _analyzer_of(known), solved.bounds[var]
        if _is_int(bounds.coef, 1) and len(bounds.equal) != 0:
            best = Range.from_min_extent(bounds.equal[0], tir.IntImm(var.dtype, 1))
        else:
            bounds = _with_range(bounds, known[var], analyzer) if var in known else bounds
            best = bounds.find_best_range(known)
        if best is None:
            continue
        if _is_empty(best, analyzer):
            return _unsolvable()
        found[var] = known[var] = best
    analyzer = _analyzer_of(known)
    relations = [condition for condition in solved.conditions() if not analyzer.can_prove(condition)]
    return IntConstraints(problem.variables, found, relations)


def _deskewed(problem):
    solved = _Elimination(problem)
    known, ranges, variables, to_new, to_old = dict(problem.ranges.items()), {}, [], {}, {}
    analyzer = _analyzer_of(known)
    for var in reversed(list(problem.variables)):
        bounds = solved.bounds[var]
        replaced = [[_lib.substitute(e, to_new) for e in values] for values in (bounds.lower, bounds.equal, bounds.upper)]
        bounds = IntGroupBounds(bounds.coef, *replaced)
        if _is_int(bounds.coef, 1) and len(bounds.equal) != 0:
            to_new[var] = bounds.equal[0]
            continue
        bounds = _with_range(bounds, known[var], analyzer) if var in known else bounds
        best = bounds.find_best_range(known)
        if best is None:
            to_new[var] = to_old[var] = var
            variables.append(var)
        elif _is_int(best.extent, 1):
            to_new[var] = best.min
        elif _is_empty(best, analyzer):
            return IntConstraintsTransform(problem, _unsolvable(), {}, {})
        else:
            shifted = tir.Var(var.name + ".shifted", var.dtype)
            to_new[var] = shifted + best.min
            to_old[shifted] = analyzer.simplify(var - _lib.substitute(best.min, to_old))
            ranges[shifted] = known[shifted] = Range.from_min_extent(tir.IntImm(var.dtype, 0), best.extent)
            variables.append(shifted)
            analyzer.bind(shifted, ranges[shifted])
    conditions = (analyzer.simplify(_lib.substitute(condition, to_new)) for condition in solved.conditions())
    relations = [condition for condition in conditions if not _is_int(condition, 1)]
    return IntConstraintsTransform(problem, IntConstraints(variables[::-1], ranges, relations), to_new, to_old)
