// A ranking model that was trained on a whole database: what a search knows of a workload before it measured any of it
// (docs/formats/cost_model.md, docs/decisions/0046-searches-begin-with-a-base-model.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/digest.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/cost_model/regression_trees.h"

namespace lathe {

// What a row tells of the target that it was made for. A model says nothing of kinds that it has not seen.
struct TargetKind {
  int vector_bits = 0, registers = 0;
  auto operator<=>(const TargetKind&) const = default;
};
TargetKind TargetKindOf(const FeatureRow& row);

// Where a model comes from.
struct TrainedFrom {
  Digest records;  // SHA-256 of the samples: features, task and time of each, in order.
  int64_t num_records = 0, num_workloads = 0;
  std::vector<TargetKind> targets;  // Sorted.
};

struct BaseModelOptions {
  int trees = 100;
  int max_depth = 5;
  double learning_rate = 0.2;
  double min_child_weight = 1;
  int pairs_per_row = 16;
  uint64_t seed = 1;
};

// Immutable; thread-safe.
class BaseModel {
 public:
  // From samples of several tasks, none of which is compared with another. FailedPrecondition where no two of a task
  // have times that differ.
  static StatusOr<BaseModel> Train(std::span<const CostSample> samples, const BaseModelOptions& options = {});
  // What ToText wrote. InvalidArgument for another format or other features, DataLoss where a byte was changed.
  static StatusOr<BaseModel> FromText(std::string_view text);
  std::string ToText() const;

  // One score per row, higher is faster, comparable within one task. Of a target of no kind that it was trained on: the
  // negative draft estimate. Rows of another width are an InvalidArgument.
  StatusOr<std::vector<double>> Score(std::span<const FeatureRow> rows) const;
  const TrainedFrom& trained_from() const { return trained_from_; }

 private:
  TrainedFrom trained_from_;
  double draft_weight_ = 1;  // score = trees - draft_weight_ * draft estimate
  std::vector<RegressionTree> trees_;
};

// Of a file that `lathe model train` wrote; errors name it.
StatusOr<std::shared_ptr<const BaseModel>> ReadBaseModel(const std::string& path);
// The one that is part of this program; null if its features are not those of this build.
std::shared_ptr<const BaseModel> BuiltInBaseModel();

}  // namespace lathe
