#include "tuner/search/shared_replay.h"

#include "support/status_macros.h"

namespace lathe {

size_t SharedReplay::FindStop(const ScheduleTrace& trace) {
  size_t depth = 0;
  while (depth + 1 < stops_.size() && IsSampled(depth, trace) && *trace.decision(samples_[depth]) == way_[depth])
    ++depth;
  if (IsSampled(depth, trace)) {
    stops_.erase(stops_.begin() + static_cast<std::ptrdiff_t>(depth) + 1, stops_.end());
    way_.resize(depth);
  }
  return depth;
}

StatusOr<Schedule> SharedReplay::Replay(const ScheduleTrace& trace, uint64_t seed) {
  if (stops_.empty()) {
    samples_.clear();
    for (size_t i = 0; i < trace.size(); ++i)
      if (trace.instruction(i).kind->samples) samples_.push_back(i);
    Stop first{unscheduled_, {}};
    RETURN_IF_ERROR(trace.ReplayTo(samples_.empty() ? trace.size() : samples_[0], first.schedule, first.progress));
    stops_.push_back(std::move(first));
  }
  size_t depth = FindStop(trace);
  Stop at = stops_[depth];
  at.schedule.Seed(seed);
  for (; IsSampled(depth, trace) && depth + 1 < samples_.size(); ++depth) {
    RETURN_IF_ERROR(trace.ReplayTo(samples_[depth + 1], at.schedule, at.progress));
    stops_.push_back(at);
    way_.push_back(*trace.decision(samples_[depth]));
  }
  RETURN_IF_ERROR(trace.ReplayTo(trace.size(), at.schedule, at.progress));
  return std::move(at.schedule);
}

}  // namespace lathe
