// A moment in the life of a job, for people.
#pragma once

#include <string>
#include <vector>

#include "support/clock.h"
#include "tuner/database/rows.h"
#include "tuner/job/activity.h"
#include "tuner/job/job_plan.h"

namespace lathe {

struct JobProgress {
  JobRow row;
  std::vector<TaskStanding> tasks;  // In the job's order. Of an ended job: as they ended.
  int64_t measured = 0;             // Trials that got an outcome since this process took the job up.
  int64_t failed = 0;               // Of these, those without a time.
  bool is_deciding = false;         // Its searches are over; the best of them are measured again.
  std::string waits_for;            // Empty: nothing.
  std::string trouble;  // Of the farm: what it keeps trying in vain, e.g. to write to a full disk. Empty: nothing.
  Duration trouble_lasts{};
  ActivityShares shares;
  TrialLatencies latencies;
};

}  // namespace lathe
