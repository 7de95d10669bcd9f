#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Puts T.attr(data, "fragment_shape", "16, 16, 16") and, where one is known, "fragment_layout" around the memory of
// wmma fragments, as the calls that fill, load and store them say. As TVM's. InvalidArgument: calls that say different
// things.
StatusOr<PrimFunc> InferFragment(PrimFunc func);

}  // namespace lathe
