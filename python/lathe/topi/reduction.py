"""Over axes."""
from lathe._lib import topi as _topi

_NAMES = """
all any argmax argmin max min prod sum
"""
globals().update({_name: getattr(_topi, _name) for _name in _NAMES.split()})
