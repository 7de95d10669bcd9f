// A TuningCore without a coordinator: what can be said and done with the database alone.
#pragma once

#include "tuner/service/tuning_core.h"

namespace lathe {

class StoreCore : public TuningCore {
 public:
  // `hindrance`: why jobs do not get on, e.g. that nobody serves this database now; nullopt: unknown.
  explicit StoreCore(Store& store, std::optional<Hindrance> hindrance = std::nullopt)
      : store_(store), hindrance_(std::move(hindrance)) {}
  Store& store() override { return store_; }
  StatusOr<CreatedJob> SubmitJob(const JobRequest& request) override;  // kFailedPrecondition
  // kFailedPrecondition if the Store was opened read-only.
  StatusOr<JobRow> CancelJob(int64_t job_id, const std::string& reason) override;
  StatusOr<JobStory> WhyJob(int64_t job_id) override;
  Status DrainDevice(const std::string& device, const std::string& reason, const Petitioner& who) override;
  StatusOr<ReservationStanding> ReserveDevice(const ReservationRequest& request) override;  // kFailedPrecondition
  // Puts it back into service; a reservation is the server's.
  Status ReleaseDevice(const std::string& device, const Petitioner& who) override;
  std::optional<Hindrance> CurrentHindrance() override { return hindrance_; }

 private:
  Status SetService(const std::string& device, const ServiceState& service, const Petitioner& who);
  Store& store_;
  const std::optional<Hindrance> hindrance_;
};

}  // namespace lathe
