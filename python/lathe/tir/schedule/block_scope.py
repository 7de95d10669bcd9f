"""How the blocks below one block depend on each other."""
import enum
from typing import Any, NamedTuple

from lathe._lib import BlockScope, StmtSRef


class DepKind(enum.IntEnum):
    """How a later block depends on an earlier one."""

    RAW, WAW, WAR, OPAQUE = range(4)


class Dependency(NamedTuple):
    """dst comes later and depends on src."""

    src: Any
    dst: Any
    kind: DepKind
