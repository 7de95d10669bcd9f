#pragma once

#include "compiler/schedule/analysis.h"

namespace lathe {

// Everybody below the block that allocates `from` uses `to` instead, of the same shape. Views become such of its type
// and scope, with the end of its name; those of another type than `from`'s are a FailedPrecondition of `primitive` at
// block `row`. Where the element types differ, what is stored and what is loaded is cast. Handles of blocks are kept.
Status ReplaceBuffer(Schedule& schedule, const IntermediateBuffer& from, const Buffer& to, const char* primitive,
                     int row);

}  // namespace lathe
