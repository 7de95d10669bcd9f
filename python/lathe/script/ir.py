"""The dialect I: modules."""
from lathe.script.decorator import ir_module
from lathe.ir.module import GlobalVar


def module_attrs(attrs):
    """In a class under ir_module: attributes of the module. Python runs the line too, where it says nothing."""


def module_global_infos(infos):
    """As module_attrs."""
