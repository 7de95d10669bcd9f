#include "tuner/service/store_core.h"

#include "support/clock.h"
#include "support/status_macros.h"

namespace lathe {

StatusOr<CreatedJob> StoreCore::SubmitJob(const JobRequest&) {
  return FailedPrecondition(
      "submit job: nobody works on jobs of this database now; start `lathe up` or use `lathe tune`");
}

StatusOr<JobRow> StoreCore::CancelJob(int64_t job_id, const std::string& reason) {
  return store_.CancelJob(job_id, reason);
}

StatusOr<JobStory> StoreCore::WhyJob(int64_t job_id) {
  ASSIGN_OR_RETURN(const JobRow row, store_.GetJob(job_id));
  const std::string detail = row.detail.empty() ? "" : ": " + row.detail;
  if (IsTerminal(row.state)) return JobStory{{"it has ended" + detail}, {}};
  return JobStory{{hindrance_ ? hindrance_->what : "nobody works on jobs of this database now; start `lathe up`"}, {}};
}

Status StoreCore::SetService(const std::string& device, const ServiceState& service, const Petitioner& who) {
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store_.ListDevices());
  for (const DeviceRow& row : devices)
    if (row.name == device) return store_.SetDeviceService(row.id, service, who.name);
  return NotFound("device \"" + device + "\": no such device; `lathe devices` lists them");
}

Status StoreCore::DrainDevice(const std::string& device, const std::string& reason, const Petitioner& who) {
  return SetService(device, {DeviceService::kDrained, reason}, who);
}

StatusOr<ReservationStanding> StoreCore::ReserveDevice(const ReservationRequest&) {
  return FailedPrecondition("reserve: nobody lends devices of this database now; start `lathe up`");
}

Status StoreCore::ReleaseDevice(const std::string& device, const Petitioner& who) {
  return SetService(device, {}, who);
}

}  // namespace lathe
