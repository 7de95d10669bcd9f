// A buffer as its memory shows it: flat indices, flat views, addresses.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

// The index of each dimension of FlatView(buffer) that stands for `indices`, one per dimension of `buffer`; the
// buffer's own offset is included.
std::vector<Expr> OffsetOf(const Buffer& buffer, const std::vector<Expr>& indices);
// `buffer` with the dimensions between two axis separators made one, over the same memory; itself where it is flat.
Buffer FlatView(const Buffer& buffer);
// T.tvm_access_ptr of the elements from `offset` on (`extent`, else all that follow), of vectors of `content_lanes`
// numbers. `access_mask`: 1 to read, 2 to write, 3 for both.
Expr AccessPtr(const Buffer& buffer, int64_t access_mask, DataType pointer_type, int64_t content_lanes,
               const Expr& offset, const std::optional<Expr>& extent);
// The same load or store at other indices.
Expr WithIndices(const Expr& load, std::vector<Expr> indices);
Stmt WithIndices(const Stmt& store, std::vector<Expr> indices);

}  // namespace lathe
