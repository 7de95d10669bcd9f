#pragma once

#include "compiler/arith/int_set.h"

namespace lathe {

// As EvalSet; where an end depends on the sign of what stays, it is a T.Select, and not left out. For programs that
// ask: schedules are better off with a region that they know to have no bounds.
IntSet EvalSetBySign(const Expr& e, const DomMap& vars, const Analyzer& analyzer);

}  // namespace lathe
