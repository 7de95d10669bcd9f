#include "tuner/job/best_check.h"

#include <fmt/format.h>

namespace lathe {

void BestCheck::Ended(TrialState outcome, const std::optional<Timings>& timings) {
  has_begun = true;  // Also of an earlier process.
  why_gone_.reset();
  if (!HasRecord(outcome) || outcome == TrialState::kNoisy) return;  // Of a disturbed machine nothing is believed.
  if (!IsTimed(outcome) || !timings) {
    why_gone_ = fmt::format("its best ended as {}", TrialStateName(outcome));
  } else if (timings->ci_low_ns > kBestHoldsWithin * best_.timings->median_ns) {
    why_gone_ = fmt::format("its best takes {:.4g} us, recorded are {:.4g} us", timings->median_ns / 1e3,
                            best_.timings->median_ns / 1e3);
  }
}

}  // namespace lathe
