#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Moves a condition out of a serial, parallel or vectorized loop whose whole body it is and whose variable it does not
// name. Conditions that load from memory stay where they are.
//   for j { if i < 3 { S } }  -->  if i < 3 { for j { S } }
PrimFunc HoistIfThenElse(PrimFunc func);

// What TVM's pass of this name moves: a whole condition, from any depth, to the outermost loop in which no sequence has
// come before it and whose variables it does not name. Without `across_threads`, conditions that name a thread stay.
// What is below the condition is simple only after Simplify.
PrimFunc HoistConditions(PrimFunc func, bool across_threads);

}  // namespace lathe
