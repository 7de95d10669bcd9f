"""Functions by name."""
from lathe.runtime.object import register_object
from lathe.runtime.registry import get_global_func, list_global_func_names, register_func, remove_global_func
