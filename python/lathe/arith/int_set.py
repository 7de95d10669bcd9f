"""Intervals of integer expressions."""
from lathe._lib import IntervalSet, neg_inf, pos_inf
