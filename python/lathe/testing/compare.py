"""Comparing arrays, expressions, and functions before and after a pass."""
import inspect
import textwrap

import numpy
import pytest

from lathe import _lib
from lathe.ir.base import assert_structural_equal
from lathe.ir.module import IRModule
from lathe.script.decorator import from_source
from lathe.tir.function import PrimFunc


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """numpy's, with shapes compared first."""
    actual, desired = numpy.asanyarray(_array(actual)), numpy.asanyarray(_array(desired))
    numpy.testing.assert_allclose(actual.shape, desired.shape)
    numpy.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def _array(value):
    return value.numpy() if hasattr(value, "numpy") else value


def assert_prim_expr_equal(lhs, rhs):
    """Asserts that lhs - rhs is 0 after simplification."""
    assert _lib.can_prove_equal(lhs, rhs), f"{lhs} and {rhs} are not equal"


class CompareBeforeAfter:
    """A test class: `transform` of `before` is `expected`. The two are functions, modules, methods that return one, or
    functions written without decorator; `expected` may be an exception's class; `transform` is a pass or a method that
    returns one."""

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


def _fixture_of(value):
    if inspect.isfunction(value) and _takes_self(value):
        return pytest.fixture(value)
    if inspect.isfunction(value):
        program = from_source("@T.prim_func\n" + textwrap.dedent(inspect.getsource(value)))
    elif inspect.isclass(value) and not issubclass(value, Exception):
        program = IRModule({name: func for name, func in vars(value).items() if isinstance(func, PrimFunc)})
    elif isinstance(value, (PrimFunc, IRModule)) or inspect.isclass(value):
        program = value
    else:
        return value  # A fixture already.

    def inner(self):
        return program

    return pytest.fixture(inner)


def _transform_fixture(value):
    if inspect.isfunction(value) and _takes_self(value):
        return pytest.fixture(value)

    def inner(self):
        return value

    return pytest.fixture(inner)
