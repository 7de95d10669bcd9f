#pragma once

#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Parameter `param` of a function stands for `buffer` from now on: its name, strides, offset, alignment, and the
// variables of its shape.
struct BoundParam {
  size_t param;
  Buffer buffer;
};
// InvalidArgument: the parameter stands for no buffer of that type and shape.
StatusOr<PrimFunc> BindBuffers(PrimFunc func, const std::vector<BoundParam>& bound);

}  // namespace lathe
