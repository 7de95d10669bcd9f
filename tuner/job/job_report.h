// What came of a job, from the Store alone: also of jobs that an earlier process ran.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/database/store.h"

namespace lathe {

struct TaskReport {
  std::string name;
  TuningKey key;
  int64_t weight = 1;
  JobState state = JobState::kQueued;
  int64_t trials = 0;                       // Known under its key, whoever measured them.
  int64_t own_trials = 0;                   // Of these, this job's.
  double flops = 0;                         // Of one call; 0: unknown.
  std::string factors = "float32";          // The type that is multiplied; "": none, or several.
  double untuned_ns = 0;                    // Of the default schedule; 0: not measured.
  double best_ns = 0;                       // 0: none.
  std::map<std::string, int64_t> failures;  // This job's, by outcome.
};

struct JobReport {
  JobRow job;
  std::vector<TaskReport> tasks;
  int64_t measured = 0, reused = 0;  // Trials of this job; trials that its tasks had already.
};

// What only the compiler can tell of a workload and target, which never changes: kept for whoever reports again and
// again. Thread-safe.
class WorkloadFactsCache {
 public:
  struct Facts {
    double flops = 0;
    std::string factors = "float32";
    std::optional<Digest> untuned_trace;  // None: it cannot be scheduled.
  };
  Facts Of(Store& store, const TuningKey& key);

 private:
  std::mutex mutex_;
  std::map<std::pair<Digest, std::string>, Facts> known_;  // Guarded by mutex_.
};

StatusOr<JobReport> MakeJobReport(Store& store, int64_t job_id, WorkloadFactsCache& facts);
StatusOr<JobReport> MakeJobReport(Store& store, int64_t job_id);

}  // namespace lathe
