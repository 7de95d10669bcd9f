// Shows on stderr how a job goes: one line that is rewritten on a terminal, else a line now and then.
#pragma once

#include <string>

#include "support/clock.h"
#include "tuner/job/coordinator.h"

namespace lathe {

class ProgressDisplay {
 public:
  // `begin`: when the job was taken up, for rates and times.
  ProgressDisplay(bool is_terminal, TimePoint begin) : is_terminal_(is_terminal), begin_(begin) {}
  void Show(const JobProgress& progress, TimePoint now);
  // Clears what is rewritten, so that other lines can follow.
  void Clear();
  // A line of its own, above.
  void Say(const std::string& text);

 private:
  std::string Render(const JobProgress& progress, TimePoint now) const;

  const bool is_terminal_;
  const TimePoint begin_;
  TimePoint shown_at_{};
  int64_t shown_measured_ = -1;
  std::string shown_remark_;
  size_t width_ = 0;  // Of what stands on the terminal's last line.
};

}  // namespace lathe
