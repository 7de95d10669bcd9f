#pragma once

#include "compiler/schedule/analysis.h"

namespace lathe {

// Everybody below the block that allocates `from` uses `to` instead, of the same shape. Where the element types differ,
// what is stored and what is loaded is cast; then nobody may see the buffer through a view (FailedPrecondition of
// `primitive` at block `row`). Handles of blocks are kept.
Status ReplaceBuffer(Schedule& schedule, const IntermediateBuffer& from, const Buffer& to, const char* primitive,
                     int row);

}  // namespace lathe
