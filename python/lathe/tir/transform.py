"""The compiler's passes by TVM's names: one per row of compiler/lower.cc, and what makes passes of Python functions.
docs/python.md says which of TVM's have no counterpart."""
from lathe import _lib
from lathe.ir.transform import Pass, PassContext, PassInfo, pass_of, prim_func_pass


def _constructor(name, row):
    def construct(*args, **options):
        return pass_of("tir." + name, row)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = f"The pass {name}."
    return construct


def _camel_case(row):
    return "".join(word.capitalize() for word in row.split("_"))


for _row in _lib.pass_names():
    globals()[_camel_case(_row)] = _constructor(_camel_case(_row), _row)
