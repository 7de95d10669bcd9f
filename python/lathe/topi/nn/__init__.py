"""Operators of neural networks."""
from lathe._lib import topi as _topi

globals().update({_name: getattr(_topi.nn, _name) for _name in dir(_topi.nn) if not _name.startswith("_")})
