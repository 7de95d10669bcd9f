#pragma once

#include "compiler/arith/index_map.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/trace_map.h"

namespace lathe {

// Puts a copy of a buffer whose axes are the iter vars that its index uses between the block and the buffer.
//   for i, j { block B: B[vi, vj] = A[vj, vi] }                                                            (read, 0)
//     -->  for ax0, ax1 { block A_reindex_reindex: A_reindex[v0, v1] = A[v1, v0] }
//          for i, j { block B: B[vi, vj] = A_reindex[vi, vj] }
// Of what the block writes, the copy back is block B_reindex, after the block's nest. All accesses of the buffer in the
// block have the same indices, and those stay inside the buffer over the whole domain of the iter vars. What is written
// is written once, and nobody else in the nest uses it. Handles of the block follow it. Returns the copying block.
StatusOr<BlockRV> ReIndex(Schedule& schedule, BlockRV block, int buffer_index, BufferSide side);

// The same with a copy in `storage_scope`, where an element is at index_map(iter vars).
//   reindex_cache_read(B, 0, "shared", lambda vi, vj: (vj, vi))
//     -->  for ax0, ax1 { block A_shared: A_shared[v1, v0] = A[v1, v0] }
//          for i, j { block B: B[vi, vj] = A_shared[vj, vi] }
// The map uses the iter vars that the buffer's indices use, and no other; it is bijective on their domains. What is
// written is copied back by block B_shared.
StatusOr<BlockRV> ReindexCacheRead(Schedule& schedule, BlockRV block, int read_buffer_index,
                                   const std::string& storage_scope, const TraceMap& index_map);
StatusOr<BlockRV> ReindexCacheWrite(Schedule& schedule, BlockRV block, int write_buffer_index,
                                    const std::string& storage_scope, const TraceMap& index_map);

}  // namespace lathe
