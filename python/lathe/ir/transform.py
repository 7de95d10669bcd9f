"""Passes over modules: one alone, several in order, and the context they run in."""
import functools
import threading

from lathe import _lib
from lathe.ir.module import IRModule


class PassContext:
    """Options of the passes that run inside `with`: opt_level, required_pass, disabled_pass, config."""

    _active = threading.local()

    def __init__(self, opt_level=2, required_pass=None, disabled_pass=None, instruments=None, config=None,
                 trace_stack=None, make_traceable=None, num_evals=None, tuning_api_database=None):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = dict(config or {})

    def __enter__(self):
        self._stack().append(self)
        return self

    def __exit__(self, *exception):
        self._stack().pop()

    @classmethod
    def _stack(cls):
        if not hasattr(cls._active, "stack"):
            cls._active.stack = []
        return cls._active.stack

    @classmethod
    def current(cls):
        return cls._stack()[-1] if cls._stack() else cls()


class PassInfo:
    """What a pass is called and when it runs."""

    def __init__(self, opt_level=0, name="", required=None, traceable=False):
        self.opt_level, self.name, self.required, self.traceable = opt_level, name, required or [], traceable


class Pass:
    """From a module to a module."""

    def __init__(self, run, info):
        self._run, self.info = run, info

    def __call__(self, mod):
        context = PassContext.current()
        if self.info.name in context.disabled_pass:
            return mod
        return self._run(mod, context)

    def __repr__(self):
        return f"Pass({self.info.name})"


class Sequential(Pass):
    """Passes one after the other. Those above the context's opt_level are left out."""

    def __init__(self, passes=None, opt_level=0, name="sequential", required=None, traceable=None):
        self.passes = list(passes or [])
        super().__init__(self._run_all, PassInfo(opt_level, name, required))

    def _run_all(self, mod, context):
        for each in self.passes:
            info = getattr(each, "info", PassInfo())
            if info.opt_level <= context.opt_level or info.name in context.required_pass:
                mod = each(mod)
        return mod


def _decorator(run_of):
    """A decorator with options, for functions and for classes with transform_module or transform_function."""

    def pass_decorator(function=None, opt_level=0, name=None, required=None, traceable=False):
        def make(target):
            info = PassInfo(opt_level, name or target.__name__, required)
            if not isinstance(target, type):
                return Pass(run_of(target), info)

            @functools.wraps(target, updated=())
            def construct(*args, **options):
                instance = target(*args, **options)
                method = getattr(instance, "transform_module", None) or instance.transform_function
                return Pass(run_of(method), info)

            return construct

        return make if function is None else make(function)

    return pass_decorator


def _on_functions(transform):
    def run(mod, context):
        result = IRModule(attrs=None)
        for var, func in mod.functions_items():
            after = transform(func, mod, context)
            if after is not None:
                result[var] = after
        return result

    return run


module_pass = _decorator(lambda transform: transform)
prim_func_pass = _decorator(_on_functions)


def PrintIR(header=""):
    """Prints the module."""

    def run(mod, context):
        print(header)
        print(mod)
        return mod

    return Pass(run, PassInfo(0, "PrintIR"))


def pass_of(name, row):
    """The compiler's pass `row` as TVM's pass `name`."""
    return Pass(lambda mod, context: _lib.run_pass(row, mod, context.config), PassInfo(0, name))
