// Index computations that are done beforehand.
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets `block` load what its iter vars alone decide from new buffers, index_var_0 ..., which new blocks, index_0 ...,
// fill before the nest that it is in. Returns those blocks.
//   cache_index(C, "global"):  C[v] = A[v // 4 * 3]  -->  index_var_0[v] = v // 4 * 3;  C[v] = A[index_var_0[v]]
// What is taken are the largest parts without memory or effect of what it stores; a part that occurs less than
// `cse_thresh` times gives way to its own parts. Longest first. As in TVM, the block goes on declaring what it read
// before, not the new buffers; the schedule knows of them (Schedule::MarkHiding).
StatusOr<std::vector<BlockRV>> CacheIndex(Schedule& schedule, BlockRV block, const std::string& storage_scope,
                                          int cse_thresh = 0);

}  // namespace lathe
