"""Comparing arrays, expressions, and functions before and after a pass."""
import inspect
import itertools
import textwrap

import numpy
import pytest

from lathe import _lib
from lathe.ir.base import assert_structural_equal
from lathe.ir.module import IRModule
from lathe.script.decorator import from_source
from lathe.tir.expr import And, IntImm
from lathe.tir.function import PrimFunc


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """numpy's, with shapes compared first."""
    actual, desired = numpy.asanyarray(_array(actual)), numpy.asanyarray(_array(desired))
    numpy.testing.assert_allclose(actual.shape, desired.shape)
    numpy.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def _array(value):
    return value.numpy() if hasattr(value, "numpy") else value


def assert_prim_expr_equal(lhs, rhs):
    """ValueError unless lhs - rhs is 0 after simplification."""
    if not _lib.can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_numerical_grads(function, input_values, grad_values, function_value=None, delta=1e-3, atol=1e-2, rtol=0.1):
    """Asserts that grad_values, one per input, are the derivatives of function (of arrays, to a number), as differences over
    2 * delta around each element tell: within atol + rtol * the larger of both, on the average of the elements."""
    del function_value
    names = list(input_values) if isinstance(input_values, dict) else range(len(input_values))
    values = {name: numpy.array(input_values[name], dtype="float64") for name in names}
    of_values = (lambda: function(**values)) if isinstance(input_values, dict) else lambda: function(*values.values())
    for name in names:
        expected = _differences(of_values, values[name], delta)
        given = numpy.asarray(_array(grad_values[name]))
        distance = numpy.sqrt(numpy.mean((expected - given)**2))
        allowed = atol + rtol * numpy.sqrt(max(numpy.mean(expected**2), numpy.mean(given**2)))
        assert distance <= allowed, f"check_numerical_grads: of {name!r} {given} was given, differences say {expected}"


def _differences(of_values, value, delta):
    """The derivatives by each element of `value`, which of_values reads."""
    slopes = numpy.zeros(value.shape)
    for index in numpy.ndindex(*value.shape):
        at = value[index]
        value[index] = at + delta
        above = of_values()
        value[index] = at - delta
        slopes[index] = (above - of_values()) / (2 * delta)
        value[index] = at
    return slopes


class CompareBeforeAfter:
    """A test class: `transform` of `before` is `expected`. The two are functions, modules, methods that return one, or
    functions written without decorator; `expected` may be an exception's class; `transform` is a pass or a method that
    returns one. Methods may be fixtures already."""

    check_well_formed = True

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name in ("before", "expected"):
            if name in cls.__dict__:
                setattr(cls, name, _fixture_of(cls.__dict__[name]))
        if "transform" in cls.__dict__:
            cls.transform = _transform_fixture(cls.__dict__["transform"])

    def test_compare(self, before, expected, transform):
        if inspect.isclass(expected) and issubclass(expected, Exception):
            with pytest.raises(expected):
                transform(_as_module(before))
            return
        after = transform(_as_module(before))
        assert_structural_equal(after, _as_module(expected))


def _as_module(value):
    """A lone function is compared under the name "main"."""
    return IRModule({"main": value.with_attr("global_symbol", "main")}) if isinstance(value, PrimFunc) else value


def _takes_self(func):
    return "self" in inspect.signature(func).parameters


def _is_fixture(value):
    """Until pytest 8.3 a fixture is the function with a mark, from 8.4 on an object around it."""
    return hasattr(value, "_pytestfixturefunction") or type(value).__name__ == "FixtureFunctionDefinition"


def _fixture_of(value):
    if _is_fixture(value):
        return value
    if inspect.isfunction(value) and _takes_self(value):
        return pytest.fixture(value)
    if inspect.isfunction(value):
        program = from_source("@T.prim_func\n" + textwrap.dedent(inspect.getsource(value)))
    elif inspect.isclass(value) and not issubclass(value, Exception):
        program = IRModule({name: func for name, func in vars(value).items() if isinstance(func, PrimFunc)})
    else:
        program = value

    def inner(self):
        return program

    return pytest.fixture(inner)


def _transform_fixture(value):
    if _is_fixture(value):
        return value
    if inspect.isfunction(value) and _takes_self(value):
        return pytest.fixture(value)

    def inner(self):
        return value

    return pytest.fixture(inner)


def check_bool_expr_is_true(bool_expr, vranges, cond=None):
    """Asserts that bool_expr holds at every point of the ranges, which are numbers, where cond does."""
    variables = list(vranges)
    ends = [(int(rng.min), int(rng.extent)) for rng in vranges.values()]
    for point in itertools.product(*(range(low, low + extent) for low, extent in ends)):
        values = {var: IntImm(var.dtype, number) for var, number in zip(variables, point)}
        holds = [_holds(condition, values) for condition in (bool_expr, cond) if condition is not None]
        assert holds[0] or not all(holds[1:]), f"{bool_expr} does not hold where {dict(zip(variables, point))}"


def _holds(condition, values):
    if isinstance(condition, bool):
        return condition
    result = _lib.Analyzer().simplify(_lib.substitute(condition, values))
    assert isinstance(result, IntImm), f"{condition} has variables without a range: {result}"
    return bool(result.value)


def check_int_constraints_trans_consistency(constraints_trans, vranges=None):
    """Asserts that both sides of an IntConstraintsTransform allow the same points, the other variables being in vranges."""
    trans = constraints_trans
    for source, target, mapping, back in ((trans.src, trans.dst, trans.src_to_dst, trans.dst_to_src),
                                          (trans.dst, trans.src, trans.dst_to_src, trans.src_to_dst)):
        ranges = {**dict(vranges or {}), **dict(source.ranges.items())}
        known = {var: rng for var, rng in ranges.items() if var in source.variables or var not in target.variables}
        allowed = _all(source.relations)
        there = [_lib.substitute(relation, back) for relation in target.relations]
        for var in target.variables:
            if var in target.ranges:
                rng = target.ranges[var]
                image = back[var]
                low, end = (_lib.substitute(end, back) for end in (rng.min, rng.min + rng.extent))
                there += [image >= low, image < end]
        for relation in there:
            check_bool_expr_is_true(relation, known, allowed)
        for var in source.variables:
            check_bool_expr_is_true(_lib.substitute(mapping[var], back).equal(var), known, allowed)


def _all(conditions):
    result = None
    for condition in conditions:
        result = condition if result is None else And(result, condition)
    return result
