"""What all dialects share: modules, ranges, containers, comparison."""
import enum

from lathe.ir import base, container, instrument, transform
from lathe.ir.base import (Node, SourceName, Span, assert_structural_equal, get_first_structural_mismatch,
                           structural_equal, structural_hash)
from lathe.ir.container import Array, Attrs, DictAttrs, Map
from lathe.ir.expr import Op, Range, RelayExpr, register_intrin_lowering, register_op_attr
from lathe.ir.json_io import load_json, save_json
from lathe.ir.module import GlobalVar, IRModule
from lathe.runtime.object import make_node
from lathe.ir.type import FuncType, PointerType, PrimType, TupleType, Type


class CallingConv(enum.IntEnum):
    """How a function is called: its attribute "calling_conv"."""
    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


def __getattr__(name):
    """What tir defines and ir names, too. Functions are of TensorIR alone."""
    from lathe import tir
    names = {"PrimExpr": tir.PrimExpr, "BaseFunc": tir.PrimFunc}
    if name in names:
        return names[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
