#include <fmt/core.h>

#include "support/random.h"
#include "tuner/cost_model/cost_model.h"
#include "tuner/cost_model/ranking_pairs.h"

namespace lathe {
namespace {

// A model whose score is a function of the row alone.
template <typename Score>
class FixedModel : public CostModel {
 public:
  explicit FixedModel(Score score) : score_(score) {}

  StatusOr<ModelReport> Update(std::span<const CostSample> batch) override {
    std::vector<FeatureRow> rows;
    for (const CostSample& sample : batch) rows.push_back(sample.features);
    StatusOr<std::vector<Prediction>> predictions = Predict(rows);
    if (!predictions.ok()) return predictions.status();
    seen_ += batch.size();
    ModelReport report;
    report.before = JudgeRanking(batch, *predictions);
    report.batch = batch.size();
    report.rows = seen_;
    return report;
  }
  StatusOr<std::vector<Prediction>> Predict(std::span<const FeatureRow> rows) const override {
    std::vector<Prediction> predictions;
    for (const FeatureRow& row : rows) {
      const Status status = CheckRow(row);
      if (!status.ok()) return status;
      predictions.push_back({score_(row), 0});
    }
    return predictions;
  }

 private:
  Score score_;
  size_t seen_ = 0;
};

template <typename Score>
std::unique_ptr<CostModel> MakeFixed(Score score) {
  return std::make_unique<FixedModel<Score>>(score);
}

}  // namespace

std::unique_ptr<CostModel> MakeRandomModel(uint64_t seed) {
  return MakeFixed([seed](const FeatureRow& row) {
    uint64_t hash = seed;
    for (float value : row) hash = Random::Mix(hash ^ std::bit_cast<uint32_t>(value));
    return Random(hash).Unit();
  });
}

std::unique_ptr<CostModel> MakeDraftModel() {
  return MakeFixed([](const FeatureRow& row) { return -static_cast<double>(row[kDraftColumn]); });
}

}  // namespace lathe
