// The role that ranks candidates before they are measured and learns from those that were.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/status.h"
#include "tuner/feature/feature_extractor.h"

namespace lathe {

// One measured candidate.
struct CostSample {
  enum class Outcome : uint8_t { kTimed, kCensored, kFailed };
  FeatureRow features;
  uint64_t task = 0;  // Samples of different tasks are never compared. Any number, the same for the same task.
  Outcome outcome = Outcome::kFailed;
  double median_ns = 0;  // kTimed: the median. kCensored: slower than this.
};

struct Prediction {
  double score = 0;        // Higher is faster; comparable within one task and one state of the model only.
  double uncertainty = 0;  // Standard deviation of the score, 0 where the model knows none.
};

// How well a batch was ranked by the model as it was before it learned from the batch. Means over the tasks of the
// batch.
struct RankQuality {
  int64_t pairs = 0, pairs_right = 0;  // Those whose order the measurements decide.
  // Time of the best of the k candidates ranked first, relative to the best of the batch, minus 1. 0: found.
  double regret_at_1 = 0, regret_at_8 = 0;
  double accuracy() const { return pairs == 0 ? 0 : static_cast<double>(pairs_right) / static_cast<double>(pairs); }
};
RankQuality JudgeRanking(std::span<const CostSample> batch, std::span<const Prediction> predictions);

// One round of learning.
struct ModelReport {
  RankQuality before;          // Of the batch just measured, before training.
  size_t batch = 0, rows = 0;  // Samples given now; samples that the model holds.
  bool refitted = false;       // Trained anew; otherwise trees were added.
  int trees = 0;               // Of one booster.
  double draft_weight = 0;     // How much the estimate below the trees counts.
};

// Not thread-safe. Shared by all tasks of a job.
class CostModel {
 public:
  virtual ~CostModel() = default;
  // Learns. After an error it still predicts, with or without what the batch taught.
  virtual StatusOr<ModelReport> Update(std::span<const CostSample> batch) = 0;
  // One prediction per row of kFeatureCount columns. Rows of another width are an InvalidArgument.
  virtual StatusOr<std::vector<Prediction>> Predict(std::span<const FeatureRow> rows) const = 0;
};

// Scores are noise that depends on the row and the seed only: the baseline.
std::unique_ptr<CostModel> MakeRandomModel(uint64_t seed);
// Scores by the analytic estimate alone; learns nothing.
std::unique_ptr<CostModel> MakeDraftModel();

struct XgbOptions {
  int boosters = 3;      // Each on pairs of its own; their spread is the uncertainty.
  int full_rounds = 18;  // Trees of a refit.
  int more_rounds = 4;   // Trees that an update adds between refits.
  int max_trees = 64;    // Then the next update refits.
  int max_depth = 3;
  double learning_rate = 0.15;
  int pairs_per_row = 16;
  size_t max_rows = 8192;  // The oldest go first, each task's best stay.
  uint64_t seed = 1;
};
class BaseModel;
// Pairwise ranking by gradient-boosted trees on top of what is known before anything was measured: the scores of
// `base`, or without one the draft estimate. Before the first update the score is that estimate's; its weight is fitted
// with each refit.
std::unique_ptr<CostModel> MakeXgbModel(const XgbOptions& options = {},
                                        std::shared_ptr<const BaseModel> base = nullptr);

}  // namespace lathe
