// The coordinator as the services need it.
#pragma once

#include <map>
#include <mutex>

#include "tuner/job/coordinator.h"
#include "tuner/service/tuning_core.h"
#include "tuner/service/worker_host.h"

namespace lathe {

class CoordinatorCore : public TuningCore, public WorkerHost {
 public:
  // `coordinator` must outlive this.
  explicit CoordinatorCore(Coordinator& coordinator) : coordinator_(coordinator) {}

  Store& store() override { return coordinator_.store(); }
  StatusOr<CreatedJob> SubmitJob(const JobRequest& request) override;
  StatusOr<JobRow> CancelJob(int64_t job_id, const std::string& reason) override {
    return coordinator_.CancelJob(job_id, reason);
  }
  FarmView View() override { return coordinator_.View(); }
  StatusOr<JobStory> WhyJob(int64_t job_id) override { return coordinator_.Why(job_id); }
  Status DrainDevice(const std::string& device, const std::string& reason, const Petitioner& who) override {
    return coordinator_.SetDeviceService(device, {DeviceService::kDrained, reason}, who.name);
  }
  StatusOr<ReservationStanding> ReserveDevice(const ReservationRequest& request) override {
    return coordinator_.Reserve(request);
  }
  Status ReleaseDevice(const std::string& device, const Petitioner& who) override {
    return coordinator_.Release(device, who);
  }
  std::optional<Hindrance> CurrentHindrance() override {
    std::string trouble = coordinator_.CurrentTrouble();
    if (trouble.empty()) return std::nullopt;
    return Hindrance{Hindrance::Kind::kTrouble, std::move(trouble)};
  }

  void SynchronizeLater(const v1::SynchronizeRequest& request, WorkerAnswer answer) override;
  Status StoreArtifact(const Digest& digest, const std::string& content) override {
    return coordinator_.StoreArtifact(digest, content);
  }
  // Answers every worker that waits, and from now on at once, with kUnavailable: it comes back later, here or to the
  // next server.
  void SendWorkersAway();

 private:
  WorkerAnswer TakeWaiting(int64_t id);

  Coordinator& coordinator_;
  std::mutex mutex_;
  std::map<int64_t, WorkerAnswer> waiting_;  // These three are guarded by mutex_.
  int64_t next_id_ = 0;
  bool is_closed_ = false;
};

}  // namespace lathe
