// Memory that is read and written as vectors of one length only is memory of such vectors.
//   A = T.allocate([8], "float32"); A[i * 4:i * 4 + 4] = x --> A = T.allocate([2], "float32x4"); A[T.Div(i * 4, 4)] = x
#pragma once

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct PointerRewriteOptions {
  bool params = true, lets = true;  // Whether buffers of parameters and pointers of lets change, too.
  bool shuffles = true;             // Whether reads of single elements become one lane of a vector.
};
// How many lanes the ramp `index` has, where all of them lie in one vector of as many.
std::optional<int64_t> AlignedLanes(const Analyzer& analyzer, const Expr& index);

// InvalidArgument: memory is used that nothing introduces, or a pointer of which nothing is known.
StatusOr<PrimFunc> PointerValueTypeRewrite(PrimFunc func, const PointerRewriteOptions& options = {});

}  // namespace lathe
