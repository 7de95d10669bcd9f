#include "compiler/ir/unrolled_stores.h"

#include "compiler/ir/child_stmts.h"

namespace lathe {

int64_t CountUnrolledStores(const Stmt& stmt) {
  int64_t stores = stmt.As<BufferStore>() != nullptr ? 1 : 0;
  ForEachChildStmt(stmt, [&](const Stmt& child) { stores += CountUnrolledStores(child); });
  const For* loop = stmt.As<For>();
  const int64_t* extent = loop != nullptr && loop->kind == ForKind::kUnrolled ? AsIntConst(loop->extent) : nullptr;
  return extent != nullptr ? stores * *extent : stores;
}

}  // namespace lathe
