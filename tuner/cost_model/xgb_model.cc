#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "support/status_macros.h"
#include "tuner/cost_model/booster.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/cost_model/model_file.h"
#include "tuner/cost_model/ranking_pairs.h"

namespace lathe {
namespace {

constexpr double kGrowthUntilRefit = 1.25;

class XgbModel : public CostModel {
 public:
  XgbModel(const XgbOptions& options, ModelFile base)
      : options_(options), base_(std::move(base)), draft_weight_(base_.draft_weight) {}

  // Reads the saved boosters, if there are any.
  Status Start() {
    ASSIGN_OR_RETURN(boosters_, FromBase());
    return OkStatus();
  }

  StatusOr<ModelReport> Update(std::span<const CostSample> batch) override {
    for (const CostSample& sample : batch) RETURN_IF_ERROR(CheckRow(sample.features));
    ModelReport report;
    report.batch = batch.size();
    std::vector<FeatureRow> rows;
    for (const CostSample& sample : batch) rows.push_back(sample.features);
    ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, Predict(rows));
    report.before = JudgeRanking(batch, predictions);
    Add(batch);
    RETURN_IF_ERROR(Train(report));
    report.rows = labels_.size();
    report.draft_weight = draft_weight_;
    return report;
  }

  StatusOr<std::vector<Prediction>> Predict(std::span<const FeatureRow> rows) const override {
    std::vector<Prediction> predictions;
    std::vector<float> values;
    values.reserve(rows.size() * kFeatureCount);
    for (const FeatureRow& row : rows) {
      RETURN_IF_ERROR(CheckRow(row));
      values.insert(values.end(), row.begin(), row.end());
      predictions.push_back({-draft_weight_ * row[kDraftColumn], 0});
    }
    if (rows.empty() || boosters_.empty()) return predictions;
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

  StatusOr<std::string> Save() const override {
    ModelFile file;
    file.draft_weight = draft_weight_;
    for (const Booster& booster : boosters_) {
      ASSIGN_OR_RETURN(std::string ubj, booster.Save());
      file.boosters.push_back(std::move(ubj));
    }
    return EncodeModelFile(file);
  }

 private:
  StatusOr<std::vector<Booster>> FromBase() const {
    std::vector<Booster> boosters;
    for (const std::string& ubj : base_.boosters) {
      ASSIGN_OR_RETURN(Booster booster, Booster::Load(ubj, OptionsOf(boosters.size()), kFeatureCount));
      boosters.push_back(std::move(booster));
    }
    return boosters;
  }
  BoosterOptions OptionsOf(size_t index) const {
    return {options_.max_depth, options_.learning_rate, options_.seed + index};
  }

  void Add(std::span<const CostSample> batch) {
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
    std::vector<float> values;
    for (size_t i = 0; i < labels_.size(); ++i) {
      if (!is_kept[i]) continue;
      labels.push_back(labels_[i]);
      values.insert(values.end(), values_.begin() + i * kFeatureCount, values_.begin() + (i + 1) * kFeatureCount);
    }
    labels_ = std::move(labels);
    values_ = std::move(values);
    rows_at_refit_ = 0;
  }

  Status Train(ModelReport& report) {
    const size_t rows = labels_.size();
    if (rows < 2) return OkStatus();
    report.refitted = trees_ == 0 || trees_ + options_.more_rounds > options_.max_trees ||
                      static_cast<double>(rows) >= kGrowthUntilRefit * static_cast<double>(rows_at_refit_);
    ++updates_;
    std::vector<double> draft(rows);
    for (size_t i = 0; i < rows; ++i) draft[i] = values_[i * kFeatureCount + kDraftColumn];
    double draft_weight = draft_weight_;
    if (report.refitted && base_.boosters.empty()) {
      draft_weight = FitEstimateWeight(DrawPairs(labels_, options_.pairs_per_row, Random(options_.seed)), draft);
    }
    ASSIGN_OR_RETURN(const BoosterMatrix matrix, BoosterMatrix::Make(values_, kFeatureCount));
    std::vector<Booster> boosters;
    if (!report.refitted) {
      boosters = boosters_;
    } else {
      ASSIGN_OR_RETURN(boosters, FromBase());
      for (size_t i = 0; base_.boosters.empty() && i < static_cast<size_t>(std::max(1, options_.boosters)); ++i) {
        ASSIGN_OR_RETURN(Booster booster, Booster::Make(OptionsOf(i), kFeatureCount));
        boosters.push_back(std::move(booster));
      }
    }
    const int rounds = report.refitted ? options_.full_rounds : options_.more_rounds;
    for (size_t i = 0; i < boosters.size(); ++i) {
      const std::vector<RankedPair> pairs =
          DrawPairs(labels_, options_.pairs_per_row, Random(Random::Mix(options_.seed + i) + updates_));
      if (!pairs.empty()) RETURN_IF_ERROR(BoostRounds(boosters[i], matrix, pairs, draft, draft_weight, rounds));
    }
    boosters_ = std::move(boosters);
    draft_weight_ = draft_weight;
    trees_ = report.refitted ? rounds : trees_ + rounds;
    if (report.refitted) rows_at_refit_ = rows;
    report.trees = trees_;
    return OkStatus();
  }

  static Status BoostRounds(Booster& booster, const BoosterMatrix& matrix, const std::vector<RankedPair>& pairs,
                            const std::vector<double>& draft, double draft_weight, int rounds) {
    std::vector<double> scores(draft.size());
    std::vector<float> gradient, hessian;
    for (int round = 0; round < rounds; ++round) {
      ASSIGN_OR_RETURN(const std::vector<float> margins, booster.Predict(matrix, /*is_training=*/true));
      for (size_t i = 0; i < scores.size(); ++i) scores[i] = margins[i] - draft_weight * draft[i];
      PairwiseGradient(pairs, scores, gradient, hessian);
      RETURN_IF_ERROR(booster.Boost(matrix, gradient, hessian));
    }
    return OkStatus();
  }

  const XgbOptions options_;
  const ModelFile base_;  // What was loaded: every refit starts from it.
  std::vector<Booster> boosters_;
  double draft_weight_;
  std::map<uint64_t, size_t> task_numbers_;
  std::vector<SampleLabel> labels_;
  std::vector<float> values_;  // Rows of kFeatureCount.
  size_t rows_at_refit_ = 0;
  int trees_ = 0;  // Of one booster, without those of `base_`.
  uint64_t updates_ = 0;
};

}  // namespace

std::unique_ptr<CostModel> MakeXgbModel(const XgbOptions& options) {
  return std::make_unique<XgbModel>(options, ModelFile{});
}

StatusOr<std::unique_ptr<CostModel>> LoadXgbModel(std::string_view bytes, const XgbOptions& options) {
  ASSIGN_OR_RETURN(ModelFile file, DecodeModelFile(bytes));
  auto model = std::make_unique<XgbModel>(options, std::move(file));
  RETURN_IF_ERROR(model->Start());
  return std::unique_ptr<CostModel>(std::move(model));
}

}  // namespace lathe
