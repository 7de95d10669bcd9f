// What a job asks for, as the Store keeps it (JSON in the row's `spec`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "tuner/database/rows.h"

namespace lathe {

// Longer limits are taken for this: a clock counts nanoseconds, and a deadline is a sum.
inline constexpr Duration kLongestTimeLimit = std::chrono::hours(24 * 365 * 10);

struct JobSpec {
  int64_t total_trials = 0;     // Of all tasks together; 0: only the tasks' budgets count.
  Duration time_limit{};        // From the start (or resumption) of the job, a seventh of it for finals; 0: none.
  bool is_fresh = false;        // What the database knows already neither counts nor guides.
  uint64_t seed = 1;            // Of the search.
  std::string space = "rules";  // Where it searches (tuner/space/spaces.h), canonical.
  std::string devices =
      {};             // A wish that narrows the device key (tracker/device_wish.h), with the key; "": any of the key.
  int priority = 0;   // kLowestPriority to kHighestPriority: whose turn it is for devices and workers.
  double weight = 1;  // Of its share among the jobs of its user.
  std::string ToJson() const;  // Stable for equal specs.
  static StatusOr<JobSpec> FromJson(std::string_view text);
  bool operator==(const JobSpec&) const = default;
};

struct TaskRequest {
  Workload workload;
  std::string name;
  std::string target;  // Canonical.
  int64_t weight = 1;
  int64_t trial_budget = 64;  // That its key shall have in all.
};
struct JobRequest {
  std::string request_id;  // The same id again returns the same job.
  std::string name;
  std::string device_key = "local";
  JobSpec spec;
  std::vector<TaskRequest> tasks;
  std::string submitter;  // As NewJob has it.
};

// The key that results of this task hold for: codegen and policy version and cache regime are this build's.
TuningKey KeyFor(const Digest& workload, std::string target, std::string device_key);

}  // namespace lathe
