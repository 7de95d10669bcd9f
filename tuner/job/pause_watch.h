// The time of a loop that may be stopped: SIGSTOP, a suspended machine, a call of its own that took long. Whoever did
// not listen cannot blame others for their silence, so such times are left out. Decision logic: time is an argument.
#pragma once

#include <optional>
#include <utility>

#include "support/clock.h"

namespace lathe {

class PauseWatch {
 public:
  // Longer than what the loop usually does at a stretch, and a third of the shortest silence that counts (15 s).
  static constexpr Duration kTolerance = std::chrono::seconds(5);

  // The loop's own time where the machine's clock says `now`. Never goes back.
  TimePoint Own(TimePoint now) {
    TimePoint own = now - paused_;
    if (wakes_at_ && own > *wakes_at_ + kTolerance) {
      // When in this time it was stopped nobody knows: none of it counts.
      new_pause_ += own - last_;
      paused_ += own - last_;
      own = last_;
    }
    last_ = std::max(last_, own);
    return last_;
  }
  // The loop now waits until then, in its own time, or for something to happen; nullopt: for the latter alone.
  void WaitsUntil(std::optional<TimePoint> own) { wakes_at_ = own; }
  // The same moment by the machine's clock.
  TimePoint ByClock(TimePoint own) const { return own + paused_; }
  // What was left out since this was asked last; 0: nothing.
  Duration TakePause() { return std::exchange(new_pause_, Duration(0)); }

 private:
  Duration paused_{}, new_pause_{};
  TimePoint last_{};
  std::optional<TimePoint> wakes_at_;
};

}  // namespace lathe
