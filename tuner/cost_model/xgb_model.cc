#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "support/status_macros.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/cost_model/booster.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/cost_model/pair_boosting.h"
#include "tuner/cost_model/ranking_pairs.h"

namespace lathe {
namespace {

constexpr double kGrowthUntilRefit = 1.25;

class XgbModel : public CostModel {
 public:
  XgbModel(const XgbOptions& options, std::shared_ptr<const BaseModel> base)
      : options_(options), base_(std::move(base)) {}

  StatusOr<ModelReport> Update(std::span<const CostSample> batch) override {
    for (const CostSample& sample : batch) RETURN_IF_ERROR(CheckRow(sample.features));
    ModelReport report;
    report.batch = batch.size();
    std::vector<FeatureRow> rows;
    for (const CostSample& sample : batch) rows.push_back(sample.features);
    ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, Predict(rows));
    report.before = JudgeRanking(batch, predictions);
    ASSIGN_OR_RETURN(const std::vector<double> estimates, Estimate(rows));
    Add(batch, estimates);
    RETURN_IF_ERROR(Train(report));
    report.rows = labels_.size();
    report.draft_weight = estimate_weight_;
    return report;
  }

  StatusOr<std::vector<Prediction>> Predict(std::span<const FeatureRow> rows) const override {
    ASSIGN_OR_RETURN(const std::vector<double> estimates, Estimate(rows));
    std::vector<Prediction> predictions;
    for (const double estimate : estimates) predictions.push_back({estimate_weight_ * estimate, 0});
    if (rows.empty() || boosters_.empty()) return predictions;
    std::vector<float> values;
    values.reserve(rows.size() * kFeatureCount);
    for (const FeatureRow& row : rows) values.insert(values.end(), row.begin(), row.end());
    ASSIGN_OR_RETURN(const BoosterMatrix matrix, BoosterMatrix::Make(values, kFeatureCount));
    std::vector<double> sum(rows.size(), 0), squares(rows.size(), 0);
    for (const Booster& booster : boosters_) {
      ASSIGN_OR_RETURN(const std::vector<float> margins, booster.Predict(matrix, /*is_training=*/false));
      for (size_t i = 0; i < rows.size(); ++i) {
        sum[i] += margins[i];
        squares[i] += double{margins[i]} * margins[i];
      }
    }
    const double count = static_cast<double>(boosters_.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const double mean = sum[i] / count;
      predictions[i].score += mean;
      predictions[i].uncertainty = std::sqrt(std::max(0.0, squares[i] / count - mean * mean));
    }
    return predictions;
  }

 private:
  // What is known of the rows before anything was measured; higher is faster.
  StatusOr<std::vector<double>> Estimate(std::span<const FeatureRow> rows) const {
    if (base_ != nullptr) return base_->Score(rows);
    std::vector<double> estimates;
    for (const FeatureRow& row : rows) {
      RETURN_IF_ERROR(CheckRow(row));
      estimates.push_back(-double{row[kDraftColumn]});
    }
    return estimates;
  }

  BoosterOptions OptionsOf(size_t index) const {
    return {.max_depth = options_.max_depth, .learning_rate = options_.learning_rate, .seed = options_.seed + index};
  }

  void Add(std::span<const CostSample> batch, const std::vector<double>& estimates) {
    estimates_.insert(estimates_.end(), estimates.begin(), estimates.end());
    for (const CostSample& sample : batch) {
      const size_t task = task_numbers_.try_emplace(sample.task, task_numbers_.size()).first->second;
      labels_.push_back({task, sample.outcome, sample.median_ns});
      values_.insert(values_.end(), sample.features.begin(), sample.features.end());
    }
    if (labels_.size() > options_.max_rows) Forget();
  }

  // Down to three quarters: each task's fastest sixteen stay, and of the rest the newest.
  void Forget() {
    constexpr size_t kKeptPerTask = 16;
    std::vector<bool> is_kept(labels_.size(), false);
    std::vector<std::vector<size_t>> timed(task_numbers_.size());
    for (size_t i = 0; i < labels_.size(); ++i)
      if (labels_[i].outcome == CostSample::Outcome::kTimed) timed[labels_[i].task].push_back(i);
    size_t kept = 0;
    for (std::vector<size_t>& members : timed) {
      std::stable_sort(members.begin(), members.end(),
                       [&](size_t a, size_t b) { return labels_[a].median_ns < labels_[b].median_ns; });
      for (size_t k = 0; k < members.size() && k < kKeptPerTask; ++k, ++kept) is_kept[members[k]] = true;
    }
    for (size_t i = labels_.size(); i-- > 0 && kept < options_.max_rows * 3 / 4;) {
      kept += !is_kept[i];
      is_kept[i] = true;
    }
    std::vector<SampleLabel> labels;
    std::vector<double> estimates;
    std::vector<float> values;
    for (size_t i = 0; i < labels_.size(); ++i) {
      if (!is_kept[i]) continue;
      labels.push_back(labels_[i]);
      estimates.push_back(estimates_[i]);
      values.insert(values.end(), values_.begin() + i * kFeatureCount, values_.begin() + (i + 1) * kFeatureCount);
    }
    labels_ = std::move(labels);
    estimates_ = std::move(estimates);
    values_ = std::move(values);
    rows_at_refit_ = 0;
  }

  Status Train(ModelReport& report) {
    const size_t rows = labels_.size();
    if (rows < 2) return OkStatus();
    report.refitted = trees_ == 0 || trees_ + options_.more_rounds > options_.max_trees ||
                      static_cast<double>(rows) >= kGrowthUntilRefit * static_cast<double>(rows_at_refit_);
    ++updates_;
    double weight = estimate_weight_;
    if (report.refitted)
      weight = FitEstimateWeight(DrawPairs(labels_, options_.pairs_per_row, Random(options_.seed)), estimates_);
    std::vector<double> estimate = estimates_;
    for (double& score : estimate) score *= weight;
    ASSIGN_OR_RETURN(const BoosterMatrix matrix, BoosterMatrix::Make(values_, kFeatureCount));
    std::vector<Booster> boosters = boosters_;
    if (report.refitted) {
      ASSIGN_OR_RETURN(boosters, NewBoosters());
    }
    const int rounds = report.refitted ? options_.full_rounds : options_.more_rounds;
    for (size_t i = 0; i < boosters.size(); ++i) {
      const std::vector<RankedPair> pairs =
          DrawPairs(labels_, options_.pairs_per_row, Random(Random::Mix(options_.seed + i) + updates_));
      RETURN_IF_ERROR(BoostOnPairs(boosters[i], matrix, pairs, estimate, rounds));
    }
    boosters_ = std::move(boosters);
    estimate_weight_ = weight;
    trees_ = report.refitted ? rounds : trees_ + rounds;
    if (report.refitted) rows_at_refit_ = rows;
    report.trees = trees_;
    return OkStatus();
  }

  StatusOr<std::vector<Booster>> NewBoosters() const {
    std::vector<Booster> boosters;
    for (size_t i = 0; i < static_cast<size_t>(std::max(1, options_.boosters)); ++i) {
      ASSIGN_OR_RETURN(Booster booster, Booster::Make(OptionsOf(i)));
      boosters.push_back(std::move(booster));
    }
    return boosters;
  }

  const XgbOptions options_;
  const std::shared_ptr<const BaseModel> base_;  // Null: the draft estimate stands in.
  std::vector<Booster> boosters_;
  double estimate_weight_ = 1;
  std::map<uint64_t, size_t> task_numbers_;
  std::vector<SampleLabel> labels_;
  std::vector<double> estimates_;  // Of the rows.
  std::vector<float> values_;      // Rows of kFeatureCount.
  size_t rows_at_refit_ = 0;
  int trees_ = 0;  // Of one booster.
  uint64_t updates_ = 0;
};

}  // namespace

std::unique_ptr<CostModel> MakeXgbModel(const XgbOptions& options, std::shared_ptr<const BaseModel> base) {
  return std::make_unique<XgbModel>(options, std::move(base));
}

}  // namespace lathe
