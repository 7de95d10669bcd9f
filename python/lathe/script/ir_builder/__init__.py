"""Functions and modules put together frame by frame, each a `with` block: IRBuilder and the dialects in it."""
from lathe.script.ir_builder import ir, tir
from lathe.script.ir_builder.base import IRBuilder, IRBuilderFrame
