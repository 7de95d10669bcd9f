#include "tuner/service/store_core.h"

#include "support/clock.h"

namespace lathe {

StatusOr<CreatedJob> StoreCore::SubmitJob(const JobRequest&) {
  return FailedPrecondition(
      "submit job: nobody works on jobs of this database now; start `lathe up` or use `lathe tune`");
}

StatusOr<JobRow> StoreCore::CancelJob(int64_t job_id, const std::string& reason) {
  return store_.CancelJob(job_id, reason);
}

}  // namespace lathe
