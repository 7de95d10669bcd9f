#include "tuner/cost_model/regression_trees.h"

#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

// XGBoost's arrays, node by node; only what can be reached, and brothers side by side.
RegressionTree FromXgb(const nlohmann::json& tree) {
  const auto left = tree.at("left_children").get<std::vector<int>>();
  const auto right = tree.at("right_children").get<std::vector<int>>();
  const auto column = tree.at("split_indices").get<std::vector<int>>();
  const auto value = tree.at("split_conditions").get<std::vector<float>>();
  RegressionTree nodes(1);
  std::deque<std::pair<size_t, size_t>> to_do{{0, 0}};  // Theirs, ours.
  while (!to_do.empty()) {
    const auto [theirs, ours] = to_do.front();
    to_do.pop_front();
    nodes[ours].value = value.at(theirs);
    if (left.at(theirs) < 0) continue;
    nodes[ours].column = column.at(theirs);
    nodes[ours].left = static_cast<uint32_t>(nodes.size());
    to_do.emplace_back(left.at(theirs), nodes.size());
    to_do.emplace_back(right.at(theirs), nodes.size() + 1);
    nodes.resize(nodes.size() + 2);
  }
  return nodes;
}

}  // namespace

bool IsSound(const RegressionTree& tree, size_t columns) {
  for (size_t i = 0; i < tree.size(); ++i) {
    const TreeNode& node = tree[i];
    if (!std::isfinite(node.value)) return false;
    if (node.column == TreeNode::kLeaf) continue;
    const bool is_column = node.column >= 0 && static_cast<size_t>(node.column) < columns;
    if (!is_column || node.left <= i || size_t{node.left} + 1 >= tree.size()) return false;
  }
  return !tree.empty();
}

double SumOfTrees(std::span<const RegressionTree> trees, std::span<const float> row) {
  double sum = 0;
  for (const RegressionTree& tree : trees) {
    const TreeNode* node = tree.data();
    while (node->column != TreeNode::kLeaf)
      node = &tree[node->left + (row[static_cast<size_t>(node->column)] < node->value ? 0 : 1)];
    sum += node->value;
  }
  return sum;
}

StatusOr<std::vector<RegressionTree>> ReadXgbTrees(std::string_view json) {
  std::vector<RegressionTree> trees;
  try {
    const nlohmann::json model = nlohmann::json::parse(json);
    for (const nlohmann::json& tree : model.at("learner").at("gradient_booster").at("model").at("trees"))
      trees.push_back(FromXgb(tree));
  } catch (const std::exception& error) {  // Of the JSON library, or of a position that is not there.
    return InternalError(std::string("read the trees of xgboost: ") + error.what());
  }
  return trees;
}

}  // namespace lathe
