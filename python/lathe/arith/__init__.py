"""Facts about integer expressions, and what follows from them."""
from lathe._lib import IntConstraints, IntConstraintsTransform, IntGroupBounds, solve_linear_equations, solve_linear_inequalities
from lathe.arith import _ffi_api, int_set
from lathe.arith.analyzer import Analyzer, ConstIntBound, Extension, ModularSet, ProofStrength
from lathe.arith.bound import deduce_bound, detect_clip_bound, detect_linear_equation
from lathe.arith.int_set import (IntervalSet, IntSet, estimate_region_lower_bound, estimate_region_strict_bound,
                                 estimate_region_upper_bound, neg_inf, pos_inf)
from lathe.arith.iter_affine_map import (IterMapExpr, IterMapLevel, IterMark, IterSplitExpr, IterSumExpr, detect_iter_map,
                                         inverse_affine_iter_map, iter_map_simplify, normalize_iter_map_to_expr,
                                         normalize_to_iter_sum, subspace_divide)
