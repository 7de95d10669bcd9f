// Index maps as Python writes them: lambda i, j: (i // 4, j, i % 4,)
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/arith/index_map.h"
#include "compiler/script/python_ast.h"

namespace lathe {

// A variable without a name of its own gets one.
std::string Print(const IndexMap& map);
// Of pairs of results, begin and end of each dimension: lambda i, j: [(i, i + 4), (j, j + 1)]
std::string PrintRanges(const IndexMap& map);
// A lambda of either form, of a text that `source` is. Its parameters have type `index_type`, or int64 where its
// numbers do (i // T.int64(4)); beside them it may name `free`.
StatusOr<IndexMap> ReadIndexMap(const PyExpr& lambda, const Source& source, std::span<const Var> free = {},
                                DataType index_type = kIndexType);
StatusOr<IndexMap> ParseIndexMap(std::string_view text, std::span<const Var> free = {},
                                 DataType index_type = kIndexType);
// A variable for each name in `text` that is one of a handle: v5.
std::vector<Var> HandleNamesIn(std::string_view text);

// `map` of indices of these integer types, one for each; the text of a map says none. Where they differ, whatever
// combines several is of the widest.
IndexMap WithIndexTypes(const IndexMap& map, const std::vector<DataType>& types);

}  // namespace lathe
