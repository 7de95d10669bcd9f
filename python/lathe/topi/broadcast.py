"""Of two operands, brought to one shape."""
from lathe._lib import topi as _topi

_NAMES = """
add bitwise_and bitwise_not bitwise_or bitwise_xor broadcast_to divide equal floor_divide floor_mod greater
greater_equal left_shift less less_equal logical_and logical_not logical_or logical_xor maximum minimum mod
multiply not_equal power right_shift subtract
"""
globals().update({_name: getattr(_topi, _name) for _name in _NAMES.split()})
