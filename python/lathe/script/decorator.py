"""@T.prim_func, @T.macro and @I.ir_module: they hand the text of what they decorate to the parser, with its place in the
file and with what the names around it mean."""
import inspect
import linecache
import re

from lathe import _lib
from lathe.error import DiagnosticError, TVMError


def _source(what):
    """File, first line and text of a function or class."""
    if not inspect.isroutine(what) and not inspect.isclass(what):
        raise TypeError(f"read a program: {type(what).__name__} is given; a function, a class or a text required")
    try:
        lines, first = inspect.getsourcelines(what)
    except (OSError, TypeError) as error:
        raise TVMError(f"read {what.__name__}: Python knows no source text of it; write it into a file, "
                       "or use lathe.script.from_source") from error
    return inspect.getsourcefile(what) or "<string>", max(first, 1), "".join(lines)


def _surroundings(frame, text, func=None):
    """What the names of the text mean where it stands: globals, variables of the functions around it."""
    names = set(re.findall(r"[A-Za-z_]\w*", text))
    captured = inspect.getclosurevars(func).nonlocals if func is not None and func.__closure__ else {}
    known = {}
    for scope in (frame.f_globals, captured, *(outer.f_locals for outer in _frames_around(frame))):
        known.update((name, scope[name]) for name in names & scope.keys())
    return known


def _frames_around(frame):
    """The frames of the function, and of the class bodies in it, where `frame` stands; outermost first."""
    frames = [frame]
    while frame.f_back is not None and "__qualname__" in frame.f_locals and frame.f_locals is not frame.f_globals:
        frame = frame.f_back
        frames.append(frame)
    return reversed(frames)


def _is_in_module_class(frame):
    """Whether `frame` runs the body of a class that @I.ir_module decorates: the class reads its functions itself."""
    code = frame.f_code
    if "__qualname__" not in frame.f_locals or frame.f_locals is frame.f_globals:
        return False
    for number in range(code.co_firstlineno, code.co_firstlineno + 20):
        line = linecache.getline(code.co_filename, number).strip()
        if line.startswith("@") and "ir_module" in line:
            return True
        if line.startswith("class "):
            return False
    return False


def _checked(program, check_well_formed):
    """`program`, a function or a module, which names nothing that it does not define."""
    if not check_well_formed:
        return program
    for func in [program[var] for var in program] if _lib.type_key(program) == "IRModule" else [program]:
        try:
            _lib.verify_well_formed(func, True)
        except ValueError as error:
            raise DiagnosticError(f"the program is not well-formed: {error}; pass check_well_formed=False if it is "
                                  "meant so") from error
    return program


def prim_func(func=None, private=False, check_well_formed=True, s_tir=False):
    """Reads the decorated function as TVMScript. private: it has no global symbol. s_tir: as all functions here are."""
    frame = inspect.currentframe().f_back

    def read(func):
        if _is_in_module_class(frame):
            return func
        file_name, first_line, text = _source(func)
        known = _surroundings(frame, text, func)
        return _checked(_lib.parse_func(text, file_name, first_line, known, check_well_formed), check_well_formed)

    return read if func is None else read(func)


class TIRMacro:
    """The text of lines that stand where it is called, in a function that is read."""

    def __init__(self, file_name, first_line, text, known, first_args=()):
        self.file_name, self.first_line, self.text = file_name, first_line, text
        self.known, self.first_args = known, first_args

    def __get__(self, instance, owner=None):
        """As a method: its first parameter is the object."""
        if instance is None:
            return self
        return TIRMacro(self.file_name, self.first_line, self.text, self.known, (instance,))

    def __call__(self, *args, **kwargs):
        raise ValueError("a macro can be called in a function that is read as TVMScript only")


def macro(*args, hygienic=True):
    """Lines for where the decorated function is called. hygienic: its names mean what they mean here; otherwise what
    they mean at the call."""
    if len(args) > 1 or (args and not inspect.isfunction(args[0])):
        raise ValueError("Invalid use of T.macro. Usage: @T.macro, @T.macro(), @T.macro(hygienic=[True|False])")
    frame = inspect.currentframe().f_back

    def read(func):
        if _is_in_module_class(frame):
            return func
        file_name, first_line, text = _source(func)
        return TIRMacro(file_name, first_line, text, _surroundings(frame, text, func))

    return read(args[0]) if args else read


def ir_module(mod=None, check_well_formed=True):
    """Reads the functions of the decorated class as one module."""

    frame = inspect.currentframe().f_back

    def read(cls):
        file_name, first_line, text = _source(cls)
        known = _surroundings(frame, text)
        return _checked(_lib.parse_module(text, file_name, first_line, known, check_well_formed), check_well_formed)

    return read if mod is None else read(mod)


def _default_names():
    import lathe
    from lathe.script import ir, tir
    return {"tvm": lathe, "I": ir, "ir": ir, "T": tir, "tir": tir}


def from_source(code, extra_vars=None, check_well_formed=True):
    """Reads TVMScript: a function, a class with functions, or a text with one of them. extra_vars: what its names mean;
    tvm, T and I unless something is given."""
    file_name, first_line, text = ("<str>", 1, code) if isinstance(code, str) else _source(code)
    return _checked(_lib.parse_any(text, file_name, first_line, _default_names() if extra_vars is None else extra_vars,
                                  check_well_formed), check_well_formed)
