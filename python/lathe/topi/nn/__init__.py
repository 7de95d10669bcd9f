"""Operators of neural networks."""
from lathe._lib import topi as _topi
from lathe.topi.nn.composed import fast_softmax, scale_shift_nchw, scale_shift_nchwc, scale_shift_nhwc, upsampling

globals().update({_name: getattr(_topi.nn, _name) for _name in dir(_topi.nn) if not _name.startswith("_")})
