"""Functions that are others for some targets."""
import functools


class GenericFunc:
    """Calls the function that is registered for the first key of the current target that has one, or the default."""

    def __init__(self, fdefault=None, name=""):
        self.fdefault, self.name, self.dispatch_dict = fdefault, name, {}
        if fdefault is not None:
            functools.update_wrapper(self, fdefault)

    def __call__(self, *args, **kwargs):
        from lathe.target import Target
        target = Target.current(allow_none=True)
        keys = target.keys if target is not None else []
        chosen = next((self.dispatch_dict[key] for key in keys if key in self.dispatch_dict), self.fdefault)
        if chosen is None:
            raise ValueError(f"generic function {self.name!r}: nothing is registered for {target}, and there is no default")
        return chosen(*args, **kwargs)

    def set_default(self, func, allow_override=False):
        """What runs where no key has a function."""
        if self.fdefault is not None and not allow_override:
            raise ValueError(f"generic function {self.name!r}: it has a default already; say allow_override=True")
        self.fdefault = func

    def register(self, key, func=None, override=False):
        """For a key, or each of a list; as a decorator without a function. GenericFunc's own order, (func, keys,
        allow_override), does as well."""
        if callable(key):
            key, func = func, key

        def add(chosen):
            for each in [key] if isinstance(key, str) else key:
                if each in self.dispatch_dict and not override:
                    raise ValueError(f"generic function {self.name!r}: {each!r} is registered already; say override=True")
                self.dispatch_dict[each] = chosen
            return chosen

        return add if func is None else add(func)


_functions = {}


def get_native_generic_func(name):
    """The one of that name, made where there is none."""
    return _functions.setdefault(name, GenericFunc(name=name))


def override_native_generic_func(func_name):
    """Makes the decorated function the default of the one of that name, whatever was."""

    def decorate(fdefault):
        known = get_native_generic_func(func_name)
        known.set_default(fdefault, allow_override=True)
        functools.update_wrapper(known, fdefault)
        return known

    return decorate


def generic_func(fdefault):
    """The decorated function, with others for keys: `@f.register("cuda")`."""
    return GenericFunc(fdefault, fdefault.__name__)
