"""The operator library by TVM's names."""
from lathe import te
from lathe._lib import topi as _topi
from lathe.topi import broadcast, cuda, generic, math, nn, reduction, tag, testing, utils, x86
from lathe.topi.composed import cumprod, cumsum, fast_erf, fast_exp, fast_tanh, log_add_exp, tensordot
from lathe.topi.reordered import expand_like, reinterpret, reverse_sequence
from lathe.topi.sorting import argsort, sort, topk
from lathe.topi.utils import get_const_tuple

globals().update({_name: getattr(_topi, _name) for _name in dir(_topi) if not _name.startswith("_") and _name != "nn"})
