"""Schedules: a module under transformation, and the trace of what was done."""
from lathe.tir.schedule import analysis, block_scope, instruction, schedule, state, trace, transform
from lathe.tir.schedule.block_scope import BlockScope, Dependency, DepKind
from lathe.tir.schedule.instruction import Instruction, InstructionKind
from lathe.tir.schedule.schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleError
from lathe.tir.schedule.state import CachedFlags, ScheduleDebugMask, ScheduleState, StmtSRef
from lathe.tir.schedule.trace import Trace
