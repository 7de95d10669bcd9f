// The value of an operator whose arguments are constants.
#pragma once

#include "compiler/relax/op.h"

namespace lathe::relax {

// nullopt where an argument is no constant, the op has no kernel, the result would have more than `max_bytes`, or it would take too long.
StatusOr<std::optional<TensorData>> EvaluateCall(const Call& call, const StructInfo& result, int64_t max_bytes = int64_t{1} << 31);

}  // namespace lathe::relax
