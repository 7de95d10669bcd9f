// Moving an intermediate buffer to another kind of memory.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// The buffer that `block` writes as its buffer_index-th, an allocation of a block around it, gets `storage_scope`:
// everybody below that block uses a buffer called <name>_<scope> instead. "global", "local", "register", "shared",
// "shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b" or "wmma.accumulator". Its own scope: nothing changes.
// An error of `primitive` at `row` if there is no such kind of memory.
Status CheckStorageScope(const Schedule& schedule, int row, const char* primitive, const std::string& storage_scope);
Status SetScope(Schedule& schedule, BlockRV block, int buffer_index, const std::string& storage_scope);

}  // namespace lathe
