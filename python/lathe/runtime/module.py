"""What was built, and how to call it."""
import os
import shutil
import time

from lathe import _lib


class PackedFunc:
    """One kernel of a module."""

    def __init__(self, module, name):
        self._module, self.name = module, name

    def __call__(self, *args):
        return self._module._lib.call(self.name, *(getattr(arg, "_array", arg) for arg in args))


class Module:
    """A built module: its kernels by name. Called itself, it runs the only one, or "main"."""

    def __init__(self, lib):
        self._lib = lib

    type_key = "lathe"
    imported_modules = ()
    is_runnable = True

    def export_library(self, file_name, *, fcompile=None, addons=None, workspace_dir=None, **kwargs):
        """Writes the shared object, which load_module and the runtime's other users open."""
        shutil.copyfile(self._lib.path, file_name)
        return str(file_name)

    @property
    def entry_func(self):
        names = self._lib.names()
        return self[names[0] if len(names) == 1 else "main"]

    def get_function(self, name, query_imports=False):
        return self[name]

    def implements_function(self, name, query_imports=False):
        return name in self._lib.names()

    def __getitem__(self, name):
        if name not in self._lib.names():
            raise AttributeError(f"module has no function '{name}'; there are: {', '.join(self._lib.names())}")
        return PackedFunc(self, name)

    def __call__(self, *args):
        return self.entry_func(*args)

    def time_evaluator(self, func_name, dev=None, number=10, repeat=1, min_repeat_ms=0, **options):
        """A function that runs the kernel `repeat` times `number` calls and says the seconds of one call."""
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
        self.mean = sum(results) / len(results)
        self.min, self.max = min(results), max(results)
        self.median = sorted(results)[len(results) // 2]


def enabled(target):
    """Whether kernels for the target are built and run here."""
    return str(getattr(target, "kind", target)).split()[0] in ("llvm", "cpu", "auto")


def num_threads():
    """How many threads kernels may use: the processors of this process."""
    return len(os.sched_getaffinity(0))


def load_module(path, fmt=""):
    """Loads an artifact that was built before."""
    return Module(_lib.load_module(path))
