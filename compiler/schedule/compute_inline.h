// Removing a block by putting its expression where its result is used, or its consumer where the result is made.
#pragma once

#include "compiler/schedule/schedule.h"

namespace lathe {

// Puts the block's value into the consumers' loads.
//   compute_inline(B):  B[i] = A[i] + 1;  C[i] = B[i] * 2  -->  C[i] = (A[i] + 1) * 2
// The block is complete, stores one element B[v0, v1, ...] indexed by its distinct iter vars, has no init and no
// predicate or condition, and B is an intermediate of the scope that blocks read, not through views. Nothing between
// the block and its consumers writes what it reads.
Status ComputeInline(Schedule& schedule, BlockRV block);

// Puts consumer `block` into its one producer.
//   reverse_compute_inline(C):  B[i] = A[i] + 1;  C[i] = B[i] * 2  -->  C[i] = (A[i] + 1) * 2
// The producer is complete and has no other consumer; the block reads B once, at indices from which its iter vars can
// be computed, and for certain what the producer writes: a predicate leaves out what nobody reads. The producer may
// store under an `if` of its body what the block needs in any case. Nothing between them reads what the block writes.
Status ReverseComputeInline(Schedule& schedule, BlockRV block);

// The same for the block in a row, unrecorded: parts of other primitives.
Status InlineBlock(Schedule& schedule, int row);
Status ReverseInlineBlock(Schedule& schedule, int row);

}  // namespace lathe
