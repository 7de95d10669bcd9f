"""Questions about functions."""
from lathe import _lib
from lathe.ir.module import IRModule


def verify_well_formed(obj, assert_mode=True):
    """Whether every variable is defined once and before its use; raises TVMError otherwise if assert_mode."""
    funcs = [func for _, func in obj.functions_items()] if isinstance(obj, IRModule) else [obj]
    return all([_lib.verify_well_formed(func, assert_mode) for func in funcs])


def expr_deep_equal(lhs, rhs):
    """Whether both are the same expression of the same variables."""
    return _lib.structural_equal(lhs, rhs, False)
