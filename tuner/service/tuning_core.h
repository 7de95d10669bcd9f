// What the services need of whoever runs the farm. Reads go to the Store; only what must reach a coordinator is a
// method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/database/store.h"
#include "tuner/job/farm_view.h"
#include "tuner/job/job_spec.h"

namespace lathe {

// What keeps jobs from getting on.
struct Hindrance {
  enum class Kind : uint8_t { kWaits, kTrouble };
  Kind kind;
  std::string what;
};

// Thread-safe.
class TuningCore {
 public:
  virtual ~TuningCore() = default;
  virtual Store& store() = 0;
  // The request's targets are canonical, its workloads distinct. Idempotent by request id; kAlreadyExists if that id
  // was used for another job.
  virtual StatusOr<CreatedJob> SubmitJob(const JobRequest& request) = 0;
  virtual StatusOr<JobRow> CancelJob(int64_t job_id, const std::string& reason) = 0;
  // What no table says; empty where nobody runs the farm.
  virtual FarmView View() { return {}; }
  virtual StatusOr<JobStory> WhyJob(int64_t job_id) = 0;
  virtual Status DrainDevice(const std::string& device, const std::string& reason, const Petitioner& who) = 0;
  virtual StatusOr<ReservationStanding> ReserveDevice(const ReservationRequest& request) = 0;
  virtual Status ReleaseDevice(const std::string& device, const Petitioner& who) = 0;
  // Of all jobs; nullopt: nothing, or what their rows say.
  virtual std::optional<Hindrance> CurrentHindrance() = 0;
};

}  // namespace lathe
