"""Expressions of known forms."""
from lathe.arith import detect_clip_bound, detect_linear_equation
