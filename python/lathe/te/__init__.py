"""Variables and operations as te programs call them. Tensors, compute and stages are not there yet (docs/python.md)."""
from lathe.tir.op import *  # noqa: F401,F403
from lathe.tir.op import all, any, const, div, floordiv, floormod, indexdiv, indexmod, max, min, truncdiv, truncmod
from lathe.tir.expr import SizeVar, Var


def var(name="tindex", dtype="int32", span=None):
    """A variable."""
    return Var(name, dtype)


def size_var(name="size", dtype="int32", span=None):
    """A variable that is no less than 0."""
    return SizeVar(name, dtype)
