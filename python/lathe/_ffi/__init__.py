"""Where programs register functions and classes."""
from lathe._ffi import registry
from lathe.runtime.object import register_object
from lathe.runtime.registry import get_global_func, register_func, remove_global_func
