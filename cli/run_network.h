// What the verbs that run a compiled network share.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/executor.h"
#include "support/status.h"

namespace lathe {

inline constexpr uint64_t kWorkspaceLimitBytes = uint64_t{1} << 30;  // Of one executor.

// Seeded, one array per input of the network: the same in every run.
StatusOr<std::vector<NDArray>> RandomInputs(const Executor& executor);
// Views of the arrays, which must outlive them.
std::vector<TensorView> ViewsOf(std::vector<NDArray>& arrays);

}  // namespace lathe
