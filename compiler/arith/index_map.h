// Maps from indices to indices: (i, j) -> (i // 4, j, i % 4). What transform_layout takes.
#pragma once

#include <memory>
#include <vector>

#include "compiler/arith/iter_map.h"

namespace lathe {

struct PaddedIndexMap;

// A value; the variables keep their identity in copies.
struct IndexMap {
  std::vector<Var> initial_indices;
  std::vector<Expr> final_indices;                    // In terms of initial_indices and of free variables.
  std::shared_ptr<const IndexMap> inverse_index_map;  // If it was given; otherwise it is derived.

  static IndexMap Identity(size_t ndim, DataType type = kIndexType);

  // All of these: one element per initial index, InvalidArgument otherwise. Results are simplified.
  StatusOr<std::vector<Expr>> MapIndices(const std::vector<Expr>& indices, const Analyzer& analyzer) const;
  StatusOr<std::vector<Expr>> ValuesAt(const std::vector<Expr>& indices) const;  // As they are, not simplified.
  // The box that the image of a box fills; padded where a range is no multiple of what divides it. FailedPrecondition
  // where it has no bounds.
  StatusOr<std::vector<Range>> MapRanges(const std::vector<Range>& ranges, const Analyzer& analyzer) const;
  // Of the box from 0. FailedPrecondition where the image does not begin at 0.
  StatusOr<std::vector<Expr>> MapShape(const std::vector<Expr>& shape, const Analyzer& analyzer) const;

  // From final to initial indices. FailedPrecondition where the map is not bijective on `initial_ranges`.
  StatusOr<IndexMap> Inverse(const std::vector<Range>& initial_ranges, const Analyzer& analyzer) const;
  // Likewise where the image has gaps; FailedPrecondition where the map is no iter map.
  StatusOr<PaddedIndexMap> NonSurjectiveInverse(const std::vector<Range>& initial_ranges,
                                                const Analyzer& analyzer) const;

  // Equal up to the names of the variables, after simplification.
  bool IsEquivalentTo(const IndexMap& other) const;
};

struct PaddedIndexMap {
  IndexMap map;
  // True of the points of the box that no initial index reaches; over map.initial_indices.
  Expr padding_predicate;
};

}  // namespace lathe
