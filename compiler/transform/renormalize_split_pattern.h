// Indices of loops that were split and fused are written with the division inside.
//   (i * 64 + j) % 512 // 16  -->  (i * 4 + j // 16) % 32
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Divisions of remainders and of sums with a multiple, by constants; x < c becomes x // c < 1. Comparisons become < and
// <=. As TVM's, at most five rewrites deep.
PrimFunc RenormalizeSplitPattern(PrimFunc func);

}  // namespace lathe
