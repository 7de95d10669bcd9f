// A job on a server, for `lathe tune --server` and for a second `tune` on a database that another process owns.
#pragma once

#include <functional>

#include "support/clock.h"
#include "tuner/job/job_report.h"
#include "tuner/job/job_spec.h"
#include "tuner/service/client.h"

namespace lathe {

// `target` as the user wrote it: the server completes it by what its devices say.
v1::SubmitJobRequest ToSubmitRequest(const JobRequest& request, const std::string& target);
// Of a job as GetJob gives it: what the closing table shows.
StatusOr<JobReport> ToReport(const v1::Job& job);

enum class RemoteEnding { kJobEnded, kDetached };
// Shows the job about twice a second until it has ended or the user leaves, which `leaves_within` waits for. A server
// that is restarted in between is waited for, for as long as `patience`.
StatusOr<RemoteEnding> FollowRemoteJob(TuningApi& tuning, int64_t job_id, Duration patience,
                                       const std::function<void(const v1::Job&)>& show,
                                       const std::function<bool(Duration)>& leaves_within);

}  // namespace lathe
