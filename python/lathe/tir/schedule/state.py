"""The loops and blocks of a schedule's module, by place."""
import enum
from typing import NamedTuple

from lathe._lib import ScheduleState, StmtSRef


class CachedFlags(NamedTuple):
    """What is known of a block: its bindings are affine, what it reads is written before, its children are stages."""

    affine_binding: bool
    region_cover: bool
    stage_pipeline: bool


class ScheduleDebugMask(enum.IntEnum):
    """What TVM checks after each primitive; Lathe's primitives check before they change anything."""

    VERIFY_SREF_TREE, VERIFY_CACHED_FLAGS = 1, 2
