"""Python functions by name."""
_functions = {}


def register_func(func_name, f=None, override=False):
    """Makes a function known under a name; as a decorator, under its own or the given one."""
    if callable(func_name):
        return register_func(func_name.__name__, func_name)

    def register(func):
        if func_name in _functions and not override:
            raise ValueError(f'register_func: "{func_name}" is registered already; say override=True')
        from lathe.runtime.module import PackedFunc
        _functions[func_name] = func if isinstance(func, PackedFunc) else PackedFunc(func)
        return func

    return register if f is None else register(f)


register_global_func = register_func


def get_global_func(name, allow_missing=False):
    """The function of that name; ValueError, or None if allow_missing, where there is none."""
    if name in _functions or allow_missing:
        return _functions.get(name)
    raise ValueError(f"get_global_func: no function is registered as \"{name}\"")


def list_global_func_names():
    """The names of all."""
    return list(_functions)


def remove_global_func(name):
    del _functions[name]
