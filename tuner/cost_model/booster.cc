#include "tuner/cost_model/booster.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

#include <limits>

#include "support/status_macros.h"
#include "tuner/feature/feature_extractor.h"

namespace lathe {
namespace {

// XGBoost reports with a stack trace over many lines; the first says what happened.
Status Check(int result, std::string_view what) {
  if (result == 0) return OkStatus();
  std::string_view message = XGBGetLastError();
  message = message.substr(0, message.find('\n'));
  if (message.starts_with('['))
    message.remove_prefix(std::min(message.size(), message.find(']') + 2));  // The time of day.
  return InternalError(fmt::format("xgboost, {}: {}", what, message));
}

// Columns of cycles: whatever else a row says, more of them are not faster.
constexpr const char* kCycles[] = {
    "draft.cycles",           "anchor.draft.compute",       "anchor.draft.ports", "anchor.draft.latency",
    "anchor.draft.front_end", "anchor.draft.spills",        "anchor.draft.l2",    "anchor.draft.l3",
    "anchor.draft.memory",    "anchor.draft.loop_overhead", "anchor.draft.total"};

// XGBoost's notation, one number per column: -1 where scores must not rise with it. A search knows fast candidates
// best; without this its trees are right about them only.
const std::string& MonotoneConstraints() {
  static const std::string constraints = [] {
    std::vector<int> signs;
    for (const std::string& name : FeatureNames())
      signs.push_back(std::find(std::begin(kCycles), std::end(kCycles), name) == std::end(kCycles) ? 0 : -1);
    return fmt::format("({})", fmt::join(signs, ","));
  }();
  return constraints;
}

StatusOr<std::shared_ptr<void>> MakeHandle(const BoosterOptions& options) {
  BoosterHandle raw = nullptr;
  RETURN_IF_ERROR(Check(XGBoosterCreate(nullptr, 0, &raw), "create booster"));
  std::shared_ptr<void> handle(raw, [](void* booster) { XGBoosterFree(booster); });
  const std::pair<const char*, std::string> params[] = {
      {"verbosity", "0"},
      {"booster", "gbtree"},
      {"tree_method", "hist"},
      {"max_bin", "32"},
      {"nthread", "1"},
      {"base_score", "0"},
      {"num_feature", std::to_string(kFeatureCount)},
      {"objective", "reg:squarederror"},
      {"min_child_weight", fmt::format("{}", options.min_child_weight)},
      {"lambda", "1"},
      {"gamma", "0.001"},
      {"max_depth", std::to_string(options.max_depth)},
      {"eta", fmt::format("{}", options.learning_rate)},
      {"seed", std::to_string(options.seed % (1u << 31))},
      {"monotone_constraints", MonotoneConstraints()}};
  for (const auto& [name, value] : params) RETURN_IF_ERROR(Check(XGBoosterSetParam(raw, name, value.c_str()), name));
  return handle;
}

}  // namespace

StatusOr<BoosterMatrix> BoosterMatrix::Make(std::span<const float> values, size_t columns) {
  DMatrixHandle raw = nullptr;
  const size_t rows = values.size() / columns;
  RETURN_IF_ERROR(
      Check(XGDMatrixCreateFromMat_omp(values.data(), rows, columns, std::numeric_limits<float>::quiet_NaN(), &raw, 1),
            "create matrix"));
  return BoosterMatrix(std::shared_ptr<void>(raw, [](void* matrix) { XGDMatrixFree(matrix); }), rows);
}

StatusOr<Booster> Booster::Make(const BoosterOptions& options) {
  ASSIGN_OR_RETURN(std::shared_ptr<void> handle, MakeHandle(options));
  return Booster(std::move(handle));
}

Status Booster::Boost(const BoosterMatrix& matrix, std::vector<float>& gradient, std::vector<float>& hessian) {
  CHECK(gradient.size() == matrix.rows() && hessian.size() == matrix.rows()) << "one gradient per row";
  return Check(XGBoosterBoostOneIter(handle_.get(), matrix.handle(), gradient.data(), hessian.data(), gradient.size()),
               "add a tree");
}

StatusOr<std::vector<float>> Booster::Predict(const BoosterMatrix& matrix, bool is_training) const {
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* values = nullptr;
  const char* config =
      is_training ? R"({"type":1,"training":true,"iteration_begin":0,"iteration_end":0,"strict_shape":false})"
                  : R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,"strict_shape":false})";
  RETURN_IF_ERROR(Check(
      XGBoosterPredictFromDMatrix(handle_.get(), matrix.handle(), config, &shape, &dimensions, &values), "predict"));
  size_t count = 1;
  for (bst_ulong i = 0; i < dimensions; ++i) count *= shape[i];
  if (count != matrix.rows())
    return InternalError(fmt::format("xgboost, predict: {} numbers for {} rows", count, matrix.rows()));
  return std::vector<float>(values, values + count);
}

StatusOr<std::string> Booster::ToJson() const {
  bst_ulong size = 0;
  const char* data = nullptr;
  RETURN_IF_ERROR(Check(XGBoosterSaveModelToBuffer(handle_.get(), R"({"format":"json"})", &size, &data), "save model"));
  return std::string(data, size);
}

}  // namespace lathe
