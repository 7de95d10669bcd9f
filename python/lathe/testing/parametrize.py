"""Parameters and fixtures of tests, over pytest's."""
import functools
import inspect
import itertools
import sys

import pytest

from lathe.runtime.module import enabled


def main():
    """Runs the tests of the file that calls."""
    file_name = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([file_name] + sys.argv[1:]))


def _short(value):
    return value if isinstance(value, str) else None


def parameter(*values, ids=None, by_dict=None):
    """A fixture that has each of the values in turn; of a class, where it stands in one."""
    if by_dict is not None:
        ids, values = list(by_dict), list(by_dict.values())

    @pytest.fixture(params=values, ids=ids or _short)
    def as_fixture(*_self, request):
        return request.param

    return as_fixture


def parameters(*value_sets, ids=None):
    """Fixtures that take their values together, a tuple of values at a time."""
    rows = list(value_sets)
    shared = parameter(*range(len(rows)), ids=ids)
    name = f"_parameters_{next(_numbers)}"
    caller = sys._getframe(1)
    caller.f_locals[name] = shared

    def column(index):
        source = f"def as_fixture(*_self, {name}):\n    return rows[{name}][index]\n"
        scope = {"rows": rows, "index": index}
        exec(source, scope)
        return pytest.fixture(scope["as_fixture"])

    return tuple(column(index) for index in range(len(rows[0])))


_numbers = itertools.count()


def fixture(func=None, *, cache_return_value=False):
    """pytest's; with cache_return_value the function runs once per set of arguments."""

    def make(func):
        if not cache_return_value:
            return pytest.fixture(func)
        cache = {}

        @functools.wraps(func)
        def cached(*args, **options):
            key = repr((args, sorted(options.items(), key=lambda item: item[0])))
            if key not in cache:
                cache[key] = func(*args, **options)
            return cache[key]

        return pytest.fixture(cached)

    return make if func is None else make(func)


def xfail_parameterizations(*xfail_params, reason):
    """For tests that take request: it is expected to fail for these parameters, as pytest shows them in brackets."""
    return _where_parameters_are(xfail_params, pytest.xfail, reason)


def skip_parameterizations(*skip_params, reason):
    """As xfail_parameterizations; the test is skipped."""
    return _where_parameters_are(skip_params, pytest.skip, reason)


def _where_parameters_are(wanted, act, reason):

    def decorate(func):

        @functools.wraps(func)
        def checked(request, *args, **options):
            _, _, shown = request.node.name.removesuffix("]").partition("[")
            if shown in wanted:
                act(f"{shown}: {reason}")
            return func(request, *args, **options)

        return checked

    return decorate


def parametrize_targets(*args):
    """Runs the test for each of the targets: with `target` and `dev`, or one of them. Of a target without kernels here
    it is skipped."""
    if len(args) == 1 and callable(args[0]):
        return _for_targets(args[0], ["llvm"])
    return lambda func: _for_targets(func, args)


def _for_targets(func, targets):
    from lathe.runtime.ndarray import device
    taken = [name for name in ("target", "dev") if name in inspect.signature(func).parameters]
    values = [{"target": target, "dev": device(str(target))} for target in targets]
    rows = [case_of_target(each["target"], *(each[name] for name in taken)) for each in values]
    return pytest.mark.parametrize(taken, rows)(func)


def case_of_target(target, *values):
    """A case of a test: skipped where kernels for the target are not run."""
    marks = [] if enabled(target) else [pytest.mark.skip(reason=f"kernels for {target} are not run here")]
    return pytest.param(*values, marks=marks, id=str(target))
