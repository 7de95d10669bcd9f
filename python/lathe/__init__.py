"""Lathe for Python: TVM's names over Lathe's compiler. docs/python.md says what exists and what is left out."""
from lathe import elsewhere, error, ir, runtime, tir
from lathe import nd, script, target, transform
from lathe import _ffi, arith, contrib, driver, instrument, support, te, topi
from lathe.driver import build, compile, lower
from lathe.error import DiagnosticError, InternalError, TVMError
from lathe.ir import IRModule
from lathe.ir import container
from lathe.runtime import (DataType, Object, cpu, cuda, device, ext_dev, get_global_func, hexagon, metal, opencl,
                           register_func, register_global_func, rocm, vpi, vulkan, webgpu)
from lathe.runtime.object import register_object

__version__ = "0.18.0"  # Of TVM: whose names these are. Programs choose between names by it.
