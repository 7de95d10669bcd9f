"""Schedule, its handles, its error. The primitives are methods of Schedule, one per row of the compiler's table
(compiler/schedule/instruction_signature.cc)."""
from lathe._lib import BlockRV, LoopRV, Schedule
from lathe.error import ScheduleError
from lathe.tir.expr import PrimExpr as ExprRV

SCHEDULE_ERROR_RENDER_LEVELS = ("detail", "fast", "none")
