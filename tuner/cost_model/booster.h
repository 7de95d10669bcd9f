// XGBoost's C interface as values; the only place that includes its header is booster.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support/status.h"

namespace lathe {

// Rows of a training or prediction set, kept by XGBoost.
class BoosterMatrix {
 public:
  // `values`: rows of `columns` numbers, one after the other.
  static StatusOr<BoosterMatrix> Make(std::span<const float> values, size_t columns);
  size_t rows() const { return rows_; }
  void* handle() const { return handle_.get(); }

 private:
  BoosterMatrix(std::shared_ptr<void> handle, size_t rows) : handle_(std::move(handle)), rows_(rows) {}
  std::shared_ptr<void> handle_;
  size_t rows_;
};

struct BoosterOptions {
  int max_depth = 5;
  double learning_rate = 0.2;
  double min_child_weight = 0.05;  // Curvature that a leaf has at least.
  uint64_t seed = 1;
};

// An ensemble of trees over rows of features, one thread, trained by gradients of ours. No row is ranked higher for
// more cycles of a bound of its draft estimate. Copies share the trees.
class Booster {
 public:
  static StatusOr<Booster> Make(const BoosterOptions& options);
  // Adds one tree. One number of each per row of `matrix`.
  Status Boost(const BoosterMatrix& matrix, std::vector<float>& gradient, std::vector<float>& hessian);
  // Sum of the trees for each row.
  StatusOr<std::vector<float>> Predict(const BoosterMatrix& matrix, bool is_training) const;
  StatusOr<std::string> ToJson() const;  // As XGBoost writes models (regression_trees.h reads it).

 private:
  explicit Booster(std::shared_ptr<void> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<void> handle_;
};

}  // namespace lathe
