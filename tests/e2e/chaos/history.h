// What was seen of a farm while things were done to it, and what its database says afterwards. Plain data; times are
// seconds since the run began.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/job/trial_state.h"

namespace lathe::chaos {

// A client asked for a job, was told its number, and watched it.
struct WatchedEvent {
  int64_t cursor = 0;
  std::string kind;  // "trial": subject is a trial that ended, detail its state.
  int64_t subject = 0;
  std::string detail;
};
struct Sight {  // One update of a watch.
  double at = 0;
  int64_t trials_done = 0, trials_known = 0;  // Over all tasks.
  std::string state;                          // Of the job.
  std::vector<WatchedEvent> events;
};
struct WatchedJob {
  std::string name;
  int64_t id = 0, budget = 0;
  double acknowledged_at = 0;
  std::vector<Sight> sights;
  std::optional<double> ended_at;        // When the client heard of its end.
  std::optional<std::string> cancelled;  // The client asked for that, and was told that the job is in this state.
};

// A device wrote a result down: from then on it must arrive.
struct SpooledResult {
  int device = 0;
  int64_t trial = 0, attempt = 0;
  bool is_measured = false;  // False: the device failed or was told to stop; that is no record.
  auto operator<=>(const SpooledResult&) const = default;
};

// What a board's trials did between two looks at /proc: processor time by process, of those that were there at both.
struct BoardSample {
  double at = 0;
  int device = 0;
  std::map<pid_t, int64_t> ran_ns;
};

// A device was killed while it had trials; how long until the database had taken all of them from it. Nullopt: it had
// not when the device was started again.
struct BoardDeath {
  double at = 0;
  int device = 0;
  size_t trials = 0;
  std::optional<double> requeued_after;
};

// A process of the farm that ended and that nobody had killed.
struct UnexpectedEnd {
  double at = 0;
  std::string who, how;
  bool is_excused = false;  // It could not have what every program needs: room on its disk, a descriptor.
};

struct ServerSample {
  double at = 0;
  pid_t pid = 0;
  int64_t descriptors = 0, resident_bytes = 0;
  bool is_at_rest = false;  // No job is open, nothing is done to the farm.
  double processor_s = 0;   // Since the process began.
};

struct History {
  std::vector<WatchedJob> jobs;
  std::vector<SpooledResult> spooled;
  std::vector<BoardSample> boards;  // Those with more than one process that ran.
  std::vector<BoardDeath> deaths;
  std::vector<UnexpectedEnd> ends;
  std::vector<ServerSample> server;
  std::vector<std::string> surprises;    // Answers that no fault explains.
  std::vector<std::string> left_behind;  // Processes of the farm after its end.
  std::vector<double> search_kills;      // When searches of jobs were killed: a job that loses two of them fails.
  double faults_end = 0;                 // When the last one was over.
};

struct BookedRecord {
  std::string result_key;
  int64_t trial = 0, attempt = 0;
  TrialState status = TrialState::kOk;
  bool is_late = false;
};
struct BookedTrial {
  int64_t id = 0, task = 0, job = 0, final_round = 0;
  TrialState state = TrialState::kProposed;
};
struct BookedTask {
  int64_t id = 0, job = 0, budget = 0;
  int64_t measured = 0;  // Traces with a record under its key.
};
struct Books {
  std::vector<BookedRecord> records;
  std::vector<BookedTrial> trials;
  std::vector<BookedTask> tasks;
};

}  // namespace lathe::chaos
