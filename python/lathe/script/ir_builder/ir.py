"""Modules in an IRBuilder."""
from lathe.ir.module import GlobalVar, IRModule
from lathe.script.ir_builder.base import IRBuilder, IRBuilderFrame


class IRModuleFrame(IRBuilderFrame):
    """Functions by name."""

    def __init__(self):
        super().__init__()
        self.functions = {}

    def end(self):
        self.builder.emit(IRModule(self.functions))


def ir_module():
    return IRModuleFrame()


def decl_function(func_name, func_signature):
    IRBuilder.current().find(IRModuleFrame, "I.decl_function").functions[func_name] = func_signature
    return GlobalVar(func_name)


def def_function(func_name, func):
    IRBuilder.current().find(IRModuleFrame, "I.def_function").functions[func_name] = func
