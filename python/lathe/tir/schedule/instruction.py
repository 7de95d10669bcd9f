"""The calls that a trace holds."""
from lathe._lib import Instruction, InstructionKind
