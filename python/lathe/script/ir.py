"""The dialect I: modules."""
from lathe.script.decorator import ir_module
from lathe.ir.module import GlobalVar
