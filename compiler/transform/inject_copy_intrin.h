#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What a nest of loops copies: `source` into `target`, views of the memory with a dimension per loop. Where the source
// is shorter, `pad_value` stands before and after it; without padding all three are empty.
struct CopiedRegion {
  Buffer source, target;
  std::vector<Expr> pad_before, pad_after;
  std::optional<Expr> pad_value;
};
using CopyLowering = std::function<Stmt(const CopiedRegion&)>;

// Each nest under the pragma `key` as what `lower` says of the copy that it is. InvalidArgument: such a nest is no copy
// of one dimension of memory into another. After StorageFlatten.
//   T.attr(i, "pragma_memcpy", 1); for i, j { B[i*n + j] = A[i*n + j] }  -->  lower({A[m, n], B[m, n]})
StatusOr<PrimFunc> InjectCopyIntrin(PrimFunc func, const std::string& key, const CopyLowering& lower);

}  // namespace lathe
