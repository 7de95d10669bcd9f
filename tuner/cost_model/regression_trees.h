// Trees as plain values: what a base model is made of, with nothing of XGBoost's left to load or to lock.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe {

// A leaf adds `value`. Elsewhere a row whose `column` is below `value` goes on at node `left`, others at `left` + 1.
struct TreeNode {
  static constexpr int32_t kLeaf = -1;
  int32_t column = kLeaf;
  float value = 0;
  uint32_t left = 0;  // Behind this node; 0 for a leaf.
  bool operator==(const TreeNode&) const = default;
};
using RegressionTree = std::vector<TreeNode>;  // The root first. At least one node.

// Every column is below `columns` and every way from the root ends at a leaf.
bool IsSound(const RegressionTree& tree, size_t columns);

double SumOfTrees(std::span<const RegressionTree> trees, std::span<const float> row);

// The trees of a model that XGBoost wrote as JSON. Values that are missing (NaN) are not expected in rows.
StatusOr<std::vector<RegressionTree>> ReadXgbTrees(std::string_view json);

}  // namespace lathe
