"""Intervals of integer expressions."""
from lathe import _lib
from lathe._lib import IntervalSet, neg_inf, pos_inf
from lathe.ir.base import structural_equal

IntSet = IntervalSet
IntervalSet.comparable = lambda interval: ["IntervalSet", interval.min_value, interval.max_value]


def same_value(self, other):
    """Of what is a value and no node: whether both say the same."""
    return type(self) is type(other) and structural_equal(self, other)


IntervalSet.same_as = same_value


def estimate_region_strict_bound(region, var_dom, predicate=True):
    """The box that the region covers, all of it, while the variables run; None where it is none."""
    return _lib.estimate_region(region, var_dom, predicate, False)


estimate_region_lower_bound = estimate_region_strict_bound


def estimate_region_upper_bound(region, var_dom, predicate=True):
    """A box that holds what the region covers while the variables run."""
    return _lib.estimate_region(region, var_dom, predicate, True)
