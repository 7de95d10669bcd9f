"""Tensor expressions by TVM's names: what is computed, element by element."""
from lathe.tir.op import *  # noqa: F401,F403
from lathe.tir.op import all, any, const, div, floordiv, floormod, indexdiv, indexmod, truncdiv, truncmod
from lathe.tir.expr import SizeVar, Var
from lathe.te.operation import (compute, create_prim_func, extern, extern_primfunc, placeholder, reduce_axis, scan, size_var,
                                thread_axis, var)
from lathe.te.reduction import comm_reducer, max, max_value, min, min_value, sum
from lathe.te.tag import tag_scope
from lathe.te.tensor import ComputeOp, ExternOp, Operation, PlaceholderOp, ScanOp, Tensor, TensorSlice
from lathe.te.tensor_intrin import TensorIntrin, decl_tensor_intrin
from lathe.te import operation, schedule, tensor
from lathe.te.schedule import AXIS_SEPARATOR, Schedule, Stage, create_schedule
