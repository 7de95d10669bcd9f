// A TuningCore without a coordinator: what can be said and done with the database alone.
#pragma once

#include "tuner/service/tuning_core.h"

namespace lathe {

class StoreCore : public TuningCore {
 public:
  explicit StoreCore(Store& store) : store_(store) {}
  Store& store() override { return store_; }
  StatusOr<CreatedJob> SubmitJob(const JobRequest& request) override;  // kFailedPrecondition
  // kFailedPrecondition if the Store was opened read-only.
  StatusOr<JobRow> CancelJob(int64_t job_id, const std::string& reason) override;
  std::string Trouble() override { return ""; }

 private:
  Store& store_;
};

}  // namespace lathe
