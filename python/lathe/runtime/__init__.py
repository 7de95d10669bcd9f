"""Objects and values that programs hold."""
from lathe.runtime import ndarray
from lathe.runtime.data_type import DataType, DataTypeCode
from lathe.runtime.module import Module, PackedFunc, enabled, load_module, num_threads
from lathe.runtime.ndarray import (Device, NDArray, Tensor, array, cpu, cuda, device, empty, ext_dev, from_dlpack, hexagon,
                                   metal, opencl, rocm, tensor, vpi, vulkan, webgpu)
from lathe.runtime.object_path import ObjectPath
from lathe.runtime.params import load_param_dict, save_param_dict
from lathe.runtime.registry import get_global_func, register_func, register_global_func
from lathe.runtime.object import Object, register_object


String = str  # A text is one, whoever holds it.


class ShapeTuple(tuple):
    """Extents."""


class String(str):
    """A text."""


def const(value, dtype=None, span=None):
    """tir.const: the number as an expression."""
    from lathe import _lib
    return _lib.const(value, dtype)


def convert(value, span=None):
    """The value as a node: numbers and strings as expressions, lists as arrays, dicts as maps."""
    from lathe import _lib
    from lathe.ir.container import Array, Map
    if isinstance(value, (list, tuple)):
        return Array(convert(item) for item in value)
    if isinstance(value, dict):
        return Map({key: convert(item) for key, item in value.items()})
    if callable(value) and not hasattr(value, "dtype"):
        return value if isinstance(value, PackedFunc) else PackedFunc(value)
    return value if value is None or isinstance(value, str) else _lib.to_expr(value)
