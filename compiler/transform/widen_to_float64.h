#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// The same computation with every float widened to float64: parameters, buffers, variables, constants, casts. Run
// unscheduled, it is the reference that candidates are checked against. Casts between float types vanish, so no value
// is rounded on the way. Reinterpreted bits keep the types they had.
PrimFunc WidenToFloat64(const PrimFunc& func);

}  // namespace lathe
