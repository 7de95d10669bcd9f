// Copies of buffers between a block and the memory it uses.
#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets `block` read a copy of its read_index-th buffer, which a new block makes in `storage_scope` before anybody uses
// it.
//   cache_read(C, 0, "local"):  C[i] = A[i]  -->  A_local[i] = A[i];  C[i] = A_local[i]
// `consumer_blocks`: who else uses the copy; empty: every reader in the scope. At most one block of the scope writes
// the buffer, in an earlier nest.
StatusOr<BlockRV> CacheRead(Schedule& schedule, BlockRV block, int read_index, const std::string& storage_scope,
                            std::span<const BlockRV> consumer_blocks = {});

// Lets `block` write a new buffer in `storage_scope`, which a new block copies to the old one right after it.
//   cache_write(C, 0, "local"):  C[i] = A[i]  -->  C_local[i] = A[i];  C[i] = C_local[i]
// The block is the buffer's only writer in the scope and writes every element of the box that is copied back.
// `consumer_blocks` read the new buffer, and so does who reads inside the same nest: all of them what the block has
// written before.
StatusOr<BlockRV> CacheWrite(Schedule& schedule, BlockRV block, int write_index, const std::string& storage_scope,
                             std::span<const BlockRV> consumer_blocks = {});

// Lets `block` work in place on a copy of its read_index-th buffer, which it writes, too: one new block makes the copy
// right before it, of all that it declares to touch, written or not; another, of the same name, writes it back right
// after. Returns the two.
//   cache_inplace(B, 0, "local"):  A[i] = A[i] * 2  -->  A_local[i] = A[i];  A_local[i] = A_local[i] * 2;  A[i] =
//   A_local[i]
StatusOr<std::vector<BlockRV>> CacheInplace(Schedule& schedule, BlockRV block, int read_index,
                                            const std::string& storage_scope);

}  // namespace lathe
