"""Operators of neural networks."""
import sys

from lathe._lib import topi as _topi
from lathe.topi.nn import places
from lathe.topi.nn.composed import fast_softmax, scale_shift_nchw, scale_shift_nchwc, scale_shift_nhwc, upsampling

globals().update({_name: getattr(_topi.nn, _name) for _name in dir(_topi.nn) if not _name.startswith("_")})
from lathe.topi.nn.norms import batch_norm, l2_normalize  # noqa: E402  The first has the name of what it uses.

places.add_modules(sys.modules[__name__])
