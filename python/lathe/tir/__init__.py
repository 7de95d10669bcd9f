"""TensorIR."""
from lathe.runtime import convert
from lathe.tir import analysis, buffer, expr, function, generic, ir_builder, op, schedule, stmt, stmt_functor, transform
from lathe.tir.buffer import Buffer, BufferRegion, DataProducer, MatchBufferRegion, decl_buffer
from lathe.tir.expr import (EQ, GE, GT, LE, LT, NE, Add, And, BinaryOpExpr, Broadcast, BufferLoad, Call, CallEffectKind, Cast,
                            CmpExpr, CommReducer, Div, FloatImm, FloorDiv, FloorMod, IntImm, IterVar, Let, LogicalExpr, Max, Min, Mod, Mul,
                            Not, Or, PrimExpr, Ramp, Reduce, Select, Shuffle, SizeVar, StringImm, Sub, Var)
from lathe.tir.function import PrimFunc, TensorIntrin
from lathe.tir.generic import add, multiply, subtract
from lathe.tir.index_map import IndexMap
from lathe.tir.data_layout import BijectiveLayout, Layout, bijective_layout, layout
from lathe.tir.op import *  # noqa: F401,F403
from lathe.tir.op import all, any, max, min
from lathe.tir.schedule import BlockScope, Schedule, ScheduleError, ScheduleState, StmtSRef
from lathe.tir.stmt import (Allocate, AllocateConst, AssertStmt, AttrStmt, Block, BlockRealize, BufferRealize,
                            BufferStore, DeclBuffer,
                            Evaluate, For, ForKind, IfThenElse, LetStmt, Prefetch, SeqStmt, Stmt, While, stmt_list, stmt_seq)


def __getattr__(name):
    """What te defines and tir names, too."""
    if name in ("comm_reducer", "sum"):
        from lathe.te import reduction
        return getattr(reduction, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
