// Databases of any size for the benchmarks, made by SQL and not by verbs: a million trials in half a minute.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tuner/database/sqlite_store.h"

namespace lathe {

struct BigDatabase {
  std::string path;
  int64_t trials = 0;               // That have ended, each with a trace and a record.
  int64_t keys = 1;                 // Tasks of one job, among which they are spread.
  bool has_leftovers = true;        // Attempts, events and blobs of them, too.
  std::vector<std::string> traces;  // Of the rows, in turns. Empty: 300 bytes of nothing.
  std::string workload_text = "text";
  Digest workload;  // Of the first key; zero: made up, as the others are.

  // What Make made.
  int64_t job_id = 1, device_id = 1, epoch = 1;
  TuningKey KeyOf(int64_t n) const;
  Digest ModuleOf(int64_t trial) const;
  // A new file. Aborts where it cannot.
  void Make() const;
  // Further trials of the first task, each RUNNING on the device under the lease; the first one's id.
  int64_t AddRunning(int64_t count) const;
};

Timings BigTimings(double median_ns);

}  // namespace lathe
