#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// In blocks annotated "permuted_layout", groups of eight columns of shared memory are exchanged within each row, so
// that ldmatrix reads eight rows from all banks:
//   S[r, c]  -->  S[r, (c // 8 ^ r % 8) * 8 + c % 8]    where rows have a multiple of 64 columns
//   S[r, c]  -->  S[r, (c // 8 ^ r % 8 // 2) * 8 + c % 8]    where they have a multiple of 32
// As TVM's, before FlattenBuffer. InvalidArgument: other shapes; memory that blocks touch both with and without.
StatusOr<PrimFunc> InjectPermutedLayout(PrimFunc func);

}  // namespace lathe
