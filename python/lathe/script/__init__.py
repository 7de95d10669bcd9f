"""TVMScript: the dialects I and T, and reading programs."""
from lathe.script import ir, tir
from lathe.script import parser
from lathe.script.decorator import from_source, ir_module
