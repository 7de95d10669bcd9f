"""Indices as splits and fuses of loops."""
import enum

from lathe import _lib
from lathe._lib import IterMark, IterSplitExpr, IterSumExpr
from lathe.arith.int_set import same_value

# What structural_equal compares.
IterMark.comparable = lambda mark: ["IterMark", mark.source, mark.extent]
IterSplitExpr.comparable = lambda split: ["IterSplitExpr", split.source, split.lower_factor, split.extent, split.scale]
IterSumExpr.comparable = lambda sums: ["IterSumExpr", list(sums.args), sums.base]

IterMark.same_as = lambda self, other: self is other
IterSplitExpr.same_as = IterSumExpr.same_as = same_value

IterMapExpr = (IterSumExpr, IterSplitExpr)  # What isinstance() asks for.


class IterMapLevel(enum.IntEnum):
    """What is demanded of an iter map."""

    Bijective, Surjective, NoCheck = 0, 1, 3

    @staticmethod
    def from_str(name):
        return IterMapLevel[{"bijective": "Bijective", "surjective": "Surjective", "nocheck": "NoCheck"}[name.lower()]]


def _level(level):
    return IterMapLevel.from_str(level) if isinstance(level, str) else level


def detect_iter_map(indices, input_iters, predicate=True, check_level=IterMapLevel.Surjective,
                    simplify_trivial_iterators=True):
    """The iter map of the indices: .indices, or .errors where there is none."""
    return _lib.detect_iter_map(indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators)


def normalize_to_iter_sum(index, input_iters):
    """The index as a sum of splits; what is none stays in the base."""
    return _lib.normalize_to_iter_sum(index, input_iters)


def iter_map_simplify(indices, input_iters, predicate=True, check_level=IterMapLevel.Surjective,
                      simplify_trivial_iterators=True):
    """The indices through their iter map and back."""
    return _lib.iter_map_simplify(indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators)


def normalize_iter_map_to_expr(expr):
    """The expression that a sum or a split stands for; others stand for themselves."""
    return _lib.iter_map_to_expr(expr) if isinstance(expr, IterMapExpr) else expr


def subspace_divide(bindings, input_iters, sub_iters, predicate=True, check_level=IterMapLevel.Surjective,
                    simplify_trivial_iterators=True):
    """Pairs of outer and inner marks, the last with the predicates as extents; empty where it is not divisible."""
    return _lib.subspace_divide(bindings, input_iters, sub_iters, predicate, _level(check_level),
                                simplify_trivial_iterators)


def inverse_affine_iter_map(iter_map, outputs):
    """The input iterators in terms of the outputs."""
    return _lib.inverse_affine_iter_map(iter_map, outputs)
