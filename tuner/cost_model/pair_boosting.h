// Trees that correct an estimate until measured pairs stand in the right order.
#pragma once

#include <span>

#include "tuner/cost_model/booster.h"
#include "tuner/cost_model/ranking_pairs.h"

namespace lathe {

// Adds `rounds` trees to `booster`. What is ranked is estimate + trees: one estimate for each row of `matrix`, whose
// positions are those of `pairs`. Without pairs nothing is added.
Status BoostOnPairs(Booster& booster, const BoosterMatrix& matrix, std::span<const RankedPair> pairs,
                    std::span<const double> estimate, int rounds);

}  // namespace lathe
