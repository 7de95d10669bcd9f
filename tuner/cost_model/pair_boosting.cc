#include "tuner/cost_model/pair_boosting.h"

#include "support/status_macros.h"

namespace lathe {

Status BoostOnPairs(Booster& booster, const BoosterMatrix& matrix, std::span<const RankedPair> pairs,
                    std::span<const double> estimate, int rounds) {
  CHECK(estimate.size() == matrix.rows()) << "one estimate per row";
  std::vector<double> scores(estimate.size());
  std::vector<float> gradient, hessian;
  for (int round = 0; round < rounds && !pairs.empty(); ++round) {
    ASSIGN_OR_RETURN(const std::vector<float> margins, booster.Predict(matrix, /*is_training=*/true));
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = estimate[i] + margins[i];
    PairwiseGradient(pairs, scores, gradient, hessian);
    RETURN_IF_ERROR(booster.Boost(matrix, gradient, hessian));
  }
  return OkStatus();
}

}  // namespace lathe
