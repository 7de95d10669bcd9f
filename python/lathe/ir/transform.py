"""Passes over modules: one alone, several in order, and the context they run in."""
import functools
import re
import threading

from lathe.error import TVMError
from lathe.ir import pass_config
from lathe.ir.module import IRModule


class PassContext:
    """Options of the passes that run inside `with`: opt_level, required_pass, disabled_pass, config; instruments
    (lathe.instrument) see each of them."""

    _active = threading.local()

    def __init__(self, opt_level=2, required_pass=None, disabled_pass=None, instruments=None, config=None,
                 trace_stack=None, make_traceable=None, num_evals=None, tuning_api_database=None):
        self.opt_level = opt_level
        self.required_pass = list(required_pass or [])
        self.disabled_pass = list(disabled_pass or [])
        self.instruments = list(instruments or [])
        self.config = pass_config.checked(config or {})

    def __enter__(self):
        self._stack().append(self)
        try:
            self._enter_instruments()
        except BaseException:
            self._stack().pop()
            raise
        return self

    def __exit__(self, *exception):
        self._stack().pop()
        self._exit_instruments()

    def __repr__(self):
        return (f"Pass context information: \n\topt_level: {self.opt_level}\n\trequired passes: {self.required_pass}\n"
                f"\tdisabled passes: {self.disabled_pass}\n\tinstruments: {self.instruments}\n\tconfig: {self.config}\n")

    def override_instruments(self, instruments):
        """Other instruments from now on: the old ones exit, the new ones enter."""
        self._exit_instruments()
        self.instruments = list(instruments or [])
        self._enter_instruments()

    def _enter_instruments(self):
        """All or none: where one fails those that entered exit, and none is left."""
        entered = []
        try:
            for each in self.instruments:
                each.enter_pass_ctx()
                entered.append(each)
        except BaseException:
            self.instruments = []
            for each in entered:
                each.exit_pass_ctx()
            raise

    def _exit_instruments(self):
        try:
            for each in self.instruments:
                each.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def is_enabled(self, info):
        """Whether a sequence runs the pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or info.opt_level <= self.opt_level

    def is_wanted(self, mod, info):
        """Whether no instrument is against the pass; all are asked, but for passes that are required."""
        return info.name in self.required_pass or all([each.should_run(mod, info) for each in self.instruments])

    @classmethod
    def _stack(cls):
        if not hasattr(cls._active, "stack"):
            cls._active.stack = []
        return cls._active.stack

    @classmethod
    def current(cls):
        return cls._stack()[-1] if cls._stack() else cls()

    @staticmethod
    def list_configs():
        """Every option's name, with what it holds."""
        return pass_config.list_configs()


class PassInfo:
    """What a pass is called and when it runs."""

    def __init__(self, opt_level=0, name="", required=None, traceable=False):
        self.opt_level, self.name, self.required, self.traceable = opt_level, name, required or [], traceable

    def __repr__(self):
        return (f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
                f"required passes: [{', '.join(self.required)}]")


class Pass:
    """From a module to a module."""

    def __init__(self, run, info):
        self._run, self.info = run, info

    def __call__(self, mod):
        context = PassContext.current()
        if not context.is_wanted(mod, self.info):
            return mod
        for each in context.instruments:
            each.run_before_pass(mod, self.info)
        mod = self._run(mod, context)
        for each in context.instruments:
            each.run_after_pass(mod, self.info)
        return mod

    def __repr__(self):
        return f"Pass({self.info.name})"


class ModulePass(Pass):
    """Made by module_pass."""


class PrimFuncPass(Pass):
    """Made by prim_func_pass: from a function to a function."""


class Sequential(Pass):
    """Passes one after the other, without those that the context disables or that are above its opt_level."""

    def __init__(self, passes=None, opt_level=0, name="sequential", required=None, traceable=None):
        self.passes = list(passes or [])
        super().__init__(self._run_all, PassInfo(opt_level, name, required))

    def _run_all(self, mod, context):
        for each in self.passes:
            if context.is_enabled(getattr(each, "info", PassInfo())):
                mod = each(mod)
        return mod


def _decorator(kind, run_of):
    """A decorator with options, for functions and for classes with transform_module or transform_function."""

    def pass_decorator(function=None, opt_level=None, name=None, required=None, traceable=False):
        if opt_level is None:
            raise ValueError(f"{kind.__name__}: expected opt_level=, got none")

        def make(target):
            info = PassInfo(opt_level, name or target.__name__, required)
            if not isinstance(target, type):
                return kind(run_of(target), info)

            @functools.wraps(target, updated=())
            def construct(*args, **options):
                instance = target(*args, **options)
                method = getattr(instance, "transform_module", None) or instance.transform_function
                return kind(run_of(method), info)

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


module_pass = _decorator(ModulePass, lambda transform: transform)
prim_func_pass = _decorator(PrimFuncPass, _on_functions)


class _ApplyToFunctions(Pass):
    """Sees those functions of a module alone whose whole name the expression matches."""

    def __init__(self, transform, func_name_regex, error_if_no_function_matches_regex):
        self.transform, self.wanted = transform, re.compile(func_name_regex)
        self.must_match = error_if_no_function_matches_regex
        super().__init__(self._run_some, PassInfo(0, "ApplyPassToFunction"))

    def _run_some(self, mod, context):
        chosen = IRModule({var: func for var, func in mod.functions_items() if self.wanted.fullmatch(var.name_hint)})
        if not len(chosen) and self.must_match:
            raise TVMError(f"ApplyPassToFunction: no function is called {self.wanted.pattern}")
        result = mod.clone()
        for var in chosen:
            del result[var]
        if len(chosen):
            result.update(self.transform(chosen))
        return result


def ApplyPassToFunction(transform, func_name_regex, error_if_no_function_matches_regex=False):
    """The pass over the functions that are called so."""
    return _ApplyToFunctions(transform, func_name_regex, error_if_no_function_matches_regex)


def PrintIR(header="", show_meta_data=False):
    """Prints the module."""

    def run(mod, context):
        print(header)
        print(mod)
        return mod

    return Pass(run, PassInfo(0, "PrintIR"))
