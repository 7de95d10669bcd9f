// A block that only brings a parameter into another layout goes away: who calls the function passes it in that layout.
//   for i, j: with T.block(...): T.block_attr({"meta_schedule.layout_rewrite_preproc": True}); W1[j // 4, i, j % 4] =
//   W[i, j]
//   --> T.evaluate(0) in the block, and the parameter stands for W1
#pragma once

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// InvalidArgument: such a block does more than copy, or copies what is no parameter's (constants are not brought into
// another layout here).
StatusOr<PrimFunc> RemoveWeightLayoutRewriteBlock(PrimFunc func);

}  // namespace lathe
