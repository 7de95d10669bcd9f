"""Modules of TVM's whose work other programs of Lathe do: importing one says which."""
import importlib.abc
import sys

_TUNING = "`lathe tune` searches for schedules and `lathe db import` takes records of TVM"
_NETWORKS = "networks come in as ONNX, by `lathe compile MODEL.onnx`"
_PLACES = {
    "meta_schedule": _TUNING, "autotvm": _TUNING, "auto_scheduler": _TUNING,
    "dlight": "`lathe tune` searches for schedules; kernels are built for CPUs",
    "relax": _NETWORKS, "relay": _NETWORKS,
    "rpc": "`lathe device` lends a machine and `lathe tune --server` measures there",
}


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.partition(".")
        if package == "lathe" and name in _PLACES:  # Without the module's name: `from lathe import` would pass over it.
            raise ModuleNotFoundError(f"lathe has no {name}: {_PLACES[name]} (docs/python.md)")
        return None


sys.meta_path.append(_Finder())
