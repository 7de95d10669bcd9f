// Memory that a loop fills for itself ("double_buffer_scope") becomes twice as large: a turn uses one half, and fills
// the other for the next one.
//   for i: fill B; use B --> fill B[0]; for i: if i + 1 < n: fill B[(i + 1) % 2] ("double_buffer_write"); use B[i % 2]
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// `split_loop`: the loop does so many turns at once, the last ones behind it are tested one by one; 0: it stays as it
// is. Memory whose variable is named elsewhere stays single. After FlattenBuffer. InvalidArgument: no loop is around,
// several dimensions, memory is written outside of the scope or used before it, or after the loop.
StatusOr<PrimFunc> InjectDoubleBuffer(PrimFunc func, int64_t split_loop = 1);

}  // namespace lathe
