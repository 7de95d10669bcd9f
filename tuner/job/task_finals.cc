#include "tuner/job/task_finals.h"

#include <algorithm>
#include <limits>

namespace lathe {

TaskFinals::TaskFinals(std::vector<NewFinalist> finalists) {
  for (NewFinalist& finalist : finalists) standings_.push_back({std::move(finalist)});
}

bool TaskFinals::IsBeaten(const Standing& standing) const {
  return standing.rounds > 0 && std::any_of(standings_.begin(), standings_.end(), [&](const Standing& other) {
           return !other.is_out && other.rounds > 0 && other.high_ns < standing.low_ns;
         });
}

std::optional<TaskFinals::Round> TaskFinals::NextRound() const {
  Round round{kFinalRounds};
  const auto goes_on = [&](const Standing& standing) { return !standing.is_out && !IsBeaten(standing); };
  for (const Standing& standing : standings_) {
    if (goes_on(standing)) round.number = std::min(round.number, standing.rounds);
  }
  if (round.number >= kFinalRounds) return std::nullopt;
  for (const Standing& standing : standings_) {
    if (goes_on(standing) && standing.rounds == round.number) round.finalists.push_back(standing.finalist);
  }
  ++round.number;
  return round;
}

void TaskFinals::Ended(const Digest& trace, TrialState outcome, const std::optional<Timings>& timings) {
  const auto standing = std::find_if(standings_.begin(), standings_.end(),
                                     [&](const Standing& s) { return s.finalist.trace_digest == trace; });
  if (standing == standings_.end()) return;
  if (!IsTimed(outcome)) {
    standing->is_out = true;
    has_failures_ |= HasRecord(outcome);
    return;
  }
  const double low = timings ? timings->ci_low_ns : 0;
  const double high = timings ? timings->ci_high_ns : std::numeric_limits<double>::infinity();
  const bool is_first = standing->rounds++ == 0;
  standing->low_ns = is_first ? low : std::min(standing->low_ns, low);
  standing->high_ns = is_first ? high : std::max(standing->high_ns, high);
}

}  // namespace lathe
