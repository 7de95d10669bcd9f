#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Blocks that say which tensor intrinsic they are, and are one still in plain loops, become it. Accumulators may be in
// registers, where tensorize asks for the scopes of the description.
//   block C_o {"meta_schedule.auto_tensorize": "dot_16x4_vnni"}: for i, k in T.grid(16, 4): ...
//     -->  block C_o: C = T.match_buffer(...); C[...] = T.call_llvm_pure_intrin(...)
// FailedPrecondition, with block and difference, where a block is not what it says; NotFound: nobody registered the
// intrinsic.
StatusOr<PrimFunc> RewriteTensorize(PrimFunc func);

}  // namespace lathe
