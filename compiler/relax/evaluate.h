// The value of an operator whose arguments are constants.
#pragma once

#include "compiler/relax/op.h"

namespace lathe::relax {

// What the evaluation of a network's constants may still cost. A hostile network has any number of calls, so each takes
// from `steps_left`.
struct EvaluationBudget {
  int64_t max_bytes = int64_t{1} << 31;   // Of one result.
  int64_t steps_left = int64_t{1} << 31;  // Statements executed and elements read: about a minute.
};

// nullopt where an argument is no constant, the op has no kernel, or the budget does not reach.
StatusOr<std::optional<TensorData>> EvaluateCall(const Call& call, const StructInfo& result, EvaluationBudget& budget);

}  // namespace lathe::relax
