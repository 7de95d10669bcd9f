"""The loops and blocks of a schedule's module, by place."""
from lathe._lib import ScheduleState, StmtSRef
