// What a variable may be so that a condition holds.
#pragma once

#include "compiler/arith/int_set.h"

namespace lathe {

// A set of values of `var` for which `condition`, a comparison, holds whatever the variables of `relax` are in their
// sets. The largest such set, except that a product with something unknown is rounded inwards. `hints` say what is
// known of other variables; they stay in the result. Nothing where `var` is not used exactly once, or below what cannot
// be turned round.
IntSet DeduceBound(const Var& var, const Expr& condition, const DomMap& hints, const DomMap& relax);

}  // namespace lathe
