"""Modules in an IRBuilder."""
from lathe.ir.module import GlobalVar, IRModule
from lathe.script.ir_builder.base import IRBuilder, IRBuilderFrame


class IRModuleFrame(IRBuilderFrame):
    """Functions by name."""

    def __init__(self):
        super().__init__()
        self.functions, self.attrs = {}, {}

    def end(self):
        self.builder.emit(IRModule(self.functions, attrs=self.attrs))


def ir_module():
    return IRModuleFrame()


def decl_function(func_name, func_signature):
    IRBuilder.current().find(IRModuleFrame, "I.decl_function").functions[func_name] = func_signature
    return GlobalVar(func_name)


def def_function(func_name, func):
    IRBuilder.current().find(IRModuleFrame, "I.def_function").functions[func_name] = func


def module_attrs(attrs, allow_overwrite=False):
    """Adds attributes of the module, as T.func_attr of a function."""
    frame = IRBuilder.current().find(IRModuleFrame, "I.module_attrs")
    known = frame.attrs.keys() & attrs.keys()
    if known and not allow_overwrite:
        raise ValueError(f"I.module_attrs: {sorted(known)[0]!r} is there already; pass allow_overwrite=True")
    frame.attrs.update(attrs)


def module_get_attr(attr_key):
    return IRBuilder.current().find(IRModuleFrame, "I.module_get_attr").attrs.get(attr_key)


def module_set_attr(attr_key, attr_value, allow_overwrite=False):
    module_attrs({attr_key: attr_value}, allow_overwrite)
