// The job of a `lathe tune`, from its request to its end: in this process, which then owns the database, or with
// whoever serves it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/place.h"
#include "cli/progress_display.h"
#include "tuner/job/embedded.h"
#include "tuner/job/job_report.h"

namespace lathe {

enum class TuneEnding {
  kJobEnded,
  kInterrupted,  // The job stays open: stopped here, or left to its server.
  kCancelled,
};

struct TunedJob {
  TuneEnding ending = TuneEnding::kJobEnded;
  JobReport report;
  int64_t measured = 0;                 // Trials of this command.
  std::string server;                   // Where the job runs or ran; empty: here.
  std::optional<JobProgress> progress;  // Of a job here.
  std::unique_ptr<EmbeddedFarm> farm;   // Of a job here: stopped, but its CPUs are still ours.
};

// Interrupts (cli/interrupts.h) are counted from before: the first one stops a job here, or leaves it to its server;
// the second cancels it. On the server of the place. One that is restarted meanwhile is waited for, up to `patience`;
// then kUnavailable.
StatusOr<TunedJob> TuneOnServer(const Place& place, JobRequest request, const std::string& target, Duration patience,
                                ProgressDisplay& display);
// As owner of the database, with a farm in this process; if another process owns it, with that one, and as owner when
// it has gone.
StatusOr<TunedJob> TuneDatabase(const EmbeddedOptions& options, JobRequest request, const std::string& target,
                                ProgressDisplay& display);

}  // namespace lathe
