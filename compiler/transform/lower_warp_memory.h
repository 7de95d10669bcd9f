#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// Memory of scope "warp" becomes memory of each thread, and what other threads of the warp wrote is read by shuffles:
//   warp W[32]; launch tx 32 { W[tx] = x; y = W[(tx + 1) % 32] }
//   -->  local W[1]; launch tx 32 { W[0] = x; y = T.tvm_warp_shuffle(mask, W[0], (tx + 1) % 32, 32, 32) }
// As TVM's, after FlattenBuffer, of functions with a target. InvalidArgument: stores whose place does not say which
// thread they are of; loads of other threads where those may not run.
StatusOr<PrimFunc> LowerWarpMemory(PrimFunc func);

}  // namespace lathe
