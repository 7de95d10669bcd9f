"""What conditions say of variables."""
from lathe import _lib


def deduce_bound(var, cond, hint_map=None, relax_map=None):
    """The values of var for which cond holds, whatever the variables of relax_map are in their sets."""
    return _lib.deduce_bound(var, cond, hint_map or {}, relax_map or {})


def detect_linear_equation(expr, var_list):
    """The coefficients of the variables, then the rest; empty where expr is not linear in them."""
    return _lib.detect_linear_equation(expr, var_list)


def detect_clip_bound(expr, var_list):
    """The smallest and largest value of each variable that the condition allows; empty where it says more."""
    return _lib.detect_clip_bound(expr, var_list)
