#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument where a function does what others can see: it writes memory that it did not allocate, or calls what
// may do so; names it. It may read, fail and give a result.
Status CheckPure(const PrimFunc& func);

}  // namespace lathe
