"""lathe.transform: what runs passes."""
from lathe.ir.transform import (ApplyPassToFunction, ModulePass, Pass, PassContext, PassInfo, PrintIR, Sequential,
                                module_pass)
