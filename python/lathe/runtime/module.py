"""What was built, and how to call it."""
import os
import shutil
import statistics
import time

from lathe import _lib
from lathe.error import TVMError


class PackedFunc:
    """A kernel of a module, or a function of Python."""

    def __init__(self, call, name=None):
        self._call, self.name = call, name or getattr(call, "__name__", "")

    def __call__(self, *args):
        return self._call(*args)


class Module:
    """A built module: its kernels by name. Called itself, it runs the only one, or "main"."""

    is_runnable = True

    def __init__(self, lib, type_key="llvm", also_called=()):
        self._lib, self.type_key = lib, type_key
        self._also_called = also_called  # Other names of the only kernel.
        self.imported_modules = []

    format = "so"

    def save(self, file_name, fmt=""):
        """export_library; an object file alone is not there."""
        kind = fmt or os.path.splitext(file_name)[1].lstrip(".")
        if kind != self.format:
            raise TVMError(f'save {file_name}: a module is saved as "so" only, not as "{kind}"')
        self.export_library(file_name)

    def get_source(self, fmt=""):
        """The text that the module was made from, where there is one."""
        raise TVMError("get_source: a module of machine code has no text; lower() shows the program")

    def export_library(self, file_name, *, fcompile=None, addons=None, workspace_dir=None, **kwargs):
        """Writes the shared object, which load_module and the runtime's other users open."""
        shutil.copyfile(self._lib.path, file_name)
        return str(file_name)

    @property
    def entry_func(self):
        names = self._lib.names()
        return self[names[0] if len(names) == 1 else "main"]

    # What can be done with it: machine code is linked, text and what was linked are bytes.
    is_device_module = False
    is_dso_exportable = property(lambda self: self.type_key in ("llvm", "c"))
    is_binary_serializable = property(lambda self: self.type_key != "llvm")

    def import_module(self, module):
        """From now on query_imports finds the functions of `module`, too; a file of this one has its own alone."""
        self.imported_modules.append(module)

    def get_function(self, name, query_imports=False):
        known = [module for module in self._searched(query_imports) if module.implements_function(name)]
        return (known[0] if known else self)[name]

    def implements_function(self, name, query_imports=False):
        return any(module._name_of(name) in module._lib.names() for module in self._searched(query_imports))

    def _searched(self, with_imports):
        below = [module._searched(True) for module in self.imported_modules] if with_imports else []
        return [self, *(each for modules in below for each in modules)]

    def _name_of(self, name):
        return self._lib.names()[0] if name in self._also_called else name

    def __getitem__(self, name):
        name = self._name_of(name)
        if name not in self._lib.names():
            raise AttributeError(f"module has no function '{name}'; there are: {', '.join(self._lib.names())}")
        return PackedFunc(lambda *args: self._lib.call(name, *(getattr(arg, "_array", arg) for arg in args)), name)

    def __call__(self, *args):
        return self.entry_func(*args)

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, min_repeat_ms=0, **options):
        """A function that runs the kernel `repeat` times `number` calls and says the seconds of one call."""
        if number < 1 or repeat < 1:
            raise ValueError(f"time_evaluator: number is {number} and repeat is {repeat}; both are at least 1")
        func = self[func_name] if func_name != self.entry_name else self.entry_func

        def measure(*args):
            results = []
            for _ in range(repeat):
                begin = time.perf_counter()
                for _ in range(number):
                    func(*args)
                results.append((time.perf_counter() - begin) / number)
            return BenchmarkResult(results)

        return measure

    entry_name = "__tvm_main__"


class BenchmarkResult:
    """Seconds per call."""

    def __init__(self, results):
        self.results = tuple(results)
        self.mean, self.std = statistics.fmean(self.results), statistics.pstdev(self.results)
        self.median, self.min, self.max = statistics.median(self.results), min(self.results), max(self.results)

    def __repr__(self):
        values = (f"{name}={getattr(self, name):.6g}" for name in ("mean", "median", "min", "max", "std"))
        return f"BenchmarkResult({', '.join(values)})"


def enabled(target):
    """Whether kernels for the target are built and run here."""
    return str(getattr(target, "kind", target)).split()[0] in ("llvm", "cpu", "auto")


def num_threads():
    """How many threads kernels may use: the processors of this process."""
    return len(os.sched_getaffinity(0))


def load_module(path, fmt=""):
    """Loads an artifact that was built before."""
    return Module(_lib.load_module(path), "library")
