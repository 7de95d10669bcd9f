#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Moves a condition out of a serial, parallel or vectorized loop whose whole body it is and whose variable it does not
// name. Conditions that load from memory stay where they are.
//   for j { if i < 3 { S } }  -->  if i < 3 { for j { S } }
PrimFunc HoistIfThenElse(PrimFunc func);

}  // namespace lathe
