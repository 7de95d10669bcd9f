"""Programs written for TVM, unchanged: lathe.compat.install_as("tvm") makes `import tvm` and its submodules mean ours."""
import importlib
import importlib.abc
import importlib.machinery
import sys


class _Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `name` and what is below it in the package lathe: the same module objects under two names."""

    def __init__(self, name):
        self.name = name

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name and not fullname.startswith(self.name + "."):
            return None
        try:
            importlib.import_module("lathe" + fullname[len(self.name):])
        except ModuleNotFoundError as error:
            if error.name is None:  # It says where its work is done.
                raise
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec):
        module = importlib.import_module("lathe" + spec.name[len(self.name):])
        self.own_spec = module.__spec__
        # What is loaded already is known by both names at once: loading it again would put a module into its package in
        # the place of a function that is called as it is (topi.nn.conv2d).
        for loaded in [name for name in sys.modules if name.startswith(module.__name__ + ".")]:
            sys.modules.setdefault(self.name + loaded[len("lathe"):], sys.modules[loaded])
        return module

    def exec_module(self, module):
        module.__spec__ = self.own_spec  # The import system has put the alias's spec there.


def install_as(name):
    """From now on `import NAME` is this package, whatever else of that name is installed."""
    if any(isinstance(finder, _Alias) and finder.name == name for finder in sys.meta_path):
        return
    for loaded in [module for module in sys.modules if module == name or module.startswith(name + ".")]:
        del sys.modules[loaded]
    sys.meta_path.insert(0, _Alias(name))
