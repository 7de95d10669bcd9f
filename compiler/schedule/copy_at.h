// Copies of what one iteration of a loop uses of a buffer.
#pragma once

#include <string>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets all that is below `loop` read a copy of `block`'s read_index-th buffer: a new block makes it in each iteration,
// right before the first reader, in loops of its own and with the annotation "auto_copy" (1). Threads that share the
// copy make all that any of them reads.
//   read_at(i, B, 0, "shared"):
//     for i { for j { B: ... A[i * 8 + j] } }
//       -->  for i { block A_shared: v0 = i; { for ax0 in 0..8 { A_shared[v0 * 8 + ax0] = A[v0 * 8 + ax0] } }
//                    for j { B: ... A_shared[i * 8 + j] } }
// Nobody below the loop writes the buffer from the first reader on, nor iterations beside each other around its scope.
StatusOr<BlockRV> ReadAt(Schedule& schedule, LoopRV loop, BlockRV block, int read_index,
                         const std::string& storage_scope);
// The same for what `block` writes: a new block copies it back right after. The block is the only one below the loop
// that touches the buffer, writes every element of what is copied, and reads it only as a reduction that has an init.
StatusOr<BlockRV> WriteAt(Schedule& schedule, LoopRV loop, BlockRV block, int write_index,
                          const std::string& storage_scope);

}  // namespace lathe
