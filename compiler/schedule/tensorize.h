#pragma once

#include <string>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Lets a block, or a nest that becomes one (blockize), run the implementation of a registered tensor intrinsic.
//   block B: for i { block U: C[0] = C[0] + A[x*4+i] * B[y, i] }                                 (intrinsic "dot4")
//     -->  block B: match_buffer a = A[x*4 : x*4+4], ...;  the implementation over a, b, c
// The block is what the intrinsic's description says, up to names and to where its regions begin: the same loops, inner
// blocks, annotations and expressions; the same buffers of the same types and scopes, in the same order of writes and
// reads; regions of the same extents, of which dimensions in front, of extent 1, may be more. Its init stays.
Status Tensorize(Schedule& schedule, BlockRV block, const std::string& tensor_intrin, bool preserve_unit_iters = true);
Status Tensorize(Schedule& schedule, LoopRV loop, const std::string& tensor_intrin, bool preserve_unit_iters = true);

// Of a block that is a tensor intrinsic, in plain loops: which one, as MetaSchedule writes it.
inline constexpr char kAutoTensorize[] = "meta_schedule.auto_tensorize";

// The same of a block outside of a schedule, whose buffers may have any scope (accumulators in registers).
StatusOr<BlockRealize> TensorizedInAnyScope(const BlockRealize& realize, const std::string& tensor_intrin);

}  // namespace lathe
