// Functions whose results come row by row, along the last dimension: what may be computed for some rows at once.
#pragma once

#include <cstddef>

#include "compiler/ir/stmt.h"

namespace lathe::relax {

// Whether the function reduces rows of its one input, and row [..., i, :] of its result takes row [..., i, :] of that
// alone: a softmax.
bool ReducesRows(const PrimFunc& func);

// Whether the function is a product whose row [..., i, :] takes row [..., i, :] of parameter `param`, over whose
// columns it sums, and of the other factor what all rows share.
bool MultipliesRows(const PrimFunc& func, size_t param);

}  // namespace lathe::relax
