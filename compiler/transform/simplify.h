#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Simplifies integer expressions by what loops, predicates and branches say about their variables; drops branches that
// cannot be taken, and loops of one iteration that carry no annotation and no thread.
PrimFunc Simplify(PrimFunc func);

}  // namespace lathe
