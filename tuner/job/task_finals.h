// How far the finals of one task are: who is measured in the next round, who is out. Pure; not thread-safe.
//
// All that are left are measured once per round, in turns, so that a machine that gets warm or busy meets them all.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tuner/database/finals.h"

namespace lathe {

class TaskFinals {
 public:
  explicit TaskFinals(std::vector<NewFinalist> finalists);

  struct Round {
    int64_t number = 0;
    std::vector<NewFinalist> finalists;
  };
  // Once no trial of the round before is open. Nullopt: enough is known to decide.
  std::optional<Round> NextRound() const;
  // A finalist's trial ended. `timings` of OK and NOISY; without them, where a time exists, nobody is beaten by it.
  void Ended(const Digest& trace, TrialState outcome, const std::optional<Timings>& timings);

  bool HasFinalists() const { return !standings_.empty(); }
  bool HasFailures() const { return has_failures_; }  // Somebody ended in a way that rules it out.

 private:
  struct Standing {
    NewFinalist finalist;
    int64_t rounds = 0;
    double low_ns = 0, high_ns = 0;  // What its intervals have in all; valid once `rounds` is above 0.
    bool is_out = false;
  };
  bool IsBeaten(const Standing& standing) const;

  std::vector<Standing> standings_;
  bool has_failures_ = false;
};

}  // namespace lathe
