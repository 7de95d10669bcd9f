// Replays of the traces of one sketch, each from where it parts with the one before.
#pragma once

#include <vector>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Keeps the schedules before each instruction that samples, along the decisions of the last trace that had some: what
// comes before the first of them is done once, and traces in the order of their decisions share the most. Not
// thread-safe.
class SharedReplay {
 public:
  // `unscheduled` is what every replay starts from.
  explicit SharedReplay(Schedule unscheduled) : unscheduled_(std::move(unscheduled)) {}

  // As ScheduleTrace::Replay on `unscheduled`; decisions not set are drawn from `seed`. All traces have the same
  // instructions (IsSameSketch).
  StatusOr<Schedule> Replay(const ScheduleTrace& trace, uint64_t seed);

 private:
  struct Stop {
    Schedule schedule;
    ScheduleTrace::Progress progress;
  };

  // The deepest stop on the way of `trace`. Forgets those of another way, unless the trace leaves the choice open.
  size_t FindStop(const ScheduleTrace& trace);
  bool IsSampled(size_t depth, const ScheduleTrace& trace) const {
    return depth < samples_.size() && trace.decision(samples_[depth]) != nullptr;
  }

  Schedule unscheduled_;
  std::vector<size_t> samples_;  // The instructions that sample.
  std::vector<Stop> stops_;      // [d] is before samples_[d].
  std::vector<Decision> way_;    // What was chosen between stops_[d] and stops_[d + 1].
};

}  // namespace lathe
