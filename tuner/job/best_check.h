// Whether what a database calls the best of a key still holds on its device: one measurement more decides. Pure.
#pragma once

#include <optional>
#include <string>

#include "tuner/database/finals.h"

namespace lathe {

inline constexpr int64_t kCheckRound = kFinalRounds + 1;  // A check is a round of finals with one finalist.
inline constexpr double kBestHoldsWithin = 1.5;           // Times the recorded median: machines are that busy at times.

class BestCheck {
 public:
  explicit BestCheck(TuningRecord best) : best_(std::move(best)) {}

  NewFinalist finalist() const { return {best_.trace_digest, best_.trace_json, best_.seed, best_.module_digest}; }
  // How its measurement ended. `timings` of OK and NOISY.
  void Ended(TrialState outcome, const std::optional<Timings>& timings);
  // Why the best does not hold; nullopt: it does, or its measurement ended for reasons that say nothing about it.
  const std::optional<std::string>& why_gone() const { return why_gone_; }

  bool has_begun = false;

 private:
  const TuningRecord best_;
  std::optional<std::string> why_gone_;
};

}  // namespace lathe
