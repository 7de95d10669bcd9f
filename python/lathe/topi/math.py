"""Of each element alone."""
from lathe._lib import topi as _topi

_NAMES = """
abs acos acosh asin asinh atan atanh cast ceil clip cos cosh erf exp floor identity isfinite isinf isnan log
log10 log2 negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
globals().update({_name: getattr(_topi, _name) for _name in _NAMES.split()})
