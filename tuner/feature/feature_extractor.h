// One row of numbers per candidate: what a cost model learns from (docs/formats/features.md lists the columns).
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"

namespace lathe {

// Raised whenever a column is added, moved or computed differently: rows and models of two versions never meet.
inline constexpr int kFeatureVersion = 3;
inline constexpr int kFeatureCount = 202;

using FeatureRow = std::vector<float>;  // kFeatureCount numbers, all finite.

// The column that holds the draft estimate, log2 of cycles: what candidates are ranked by before anything was learned.
inline constexpr int kDraftColumn = 0;

// From a scheduled, not lowered function. Pure: same function, same target, same row. Never fails; what is not
// understood counts as 0.
FeatureRow ExtractFeatures(const PrimFunc& scheduled, const Target& target);

// One name per column, in order.
const std::vector<std::string>& FeatureNames();

}  // namespace lathe
