// How much code unrolling makes.
#pragma once

#include "compiler/ir/stmt.h"

namespace lathe {

// Stores to buffers that stand in the text of `stmt` once its unrolled loops are written out, those of inits and below
// conditions included. Unrolled loops of unknown extent count once.
int64_t CountUnrolledStores(const Stmt& stmt);

}  // namespace lathe
