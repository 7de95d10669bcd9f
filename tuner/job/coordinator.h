// Turns jobs into measured records: one thread decides (farm_core.h), searches run beside it, workers build, devices
// measure, the Store remembers.
//
// Crash-only: everything that matters is in the Store before anybody is told, so a coordinator that is killed and
// started again goes on where the last one was. It owns no socket of its own but the gateway's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "rpc/gateway/device_gateway.h"
#include "support/clock.h"
#include "tuner/database/store.h"
#include "tuner/job/farm_statistics.h"
#include "tuner/job/farm_view.h"
#include "tuner/job/job_progress.h"
#include "tuner/job/job_search.h"
#include "tuner/job/job_spec.h"
#include "tuner/job/pruning_thread.h"
#include "tuner/job/quiet_gate.h"
#include "tuner/worker/worker_channel.h"

namespace lathe {

class BaseModel;

struct CoordinatorOptions {
  std::string directory;  // For blobs and references; created if needed.
  int64_t blob_limit_bytes = int64_t{2} << 30;
  // Where each job is searched: in a process of this program (search_process.h), which reads the file of the store and
  // builds references by the other two. Empty, or where `searches` are given: on a thread here.
  std::string search_program, builder_program, database_path;
  SearchFactory searches;                                      // Empty: evolution under a cost model of XGBoost.
  std::shared_ptr<const BaseModel> base_model;                 // What that one begins with; null: BuiltInBaseModel.
  std::function<std::unique_ptr<TaskScheduler>()> schedulers;  // Empty: gradient.
  ReferenceFactory references;  // Empty: ReferenceMaker with `reference_options`, whose directory is filled in.
  ReferenceOptions reference_options;
  bool resumes_jobs = true;  // At start, all that have not ended. Else only those that are submitted again.
  Duration build_time_limit = std::chrono::seconds(30);
  bool checks_devices = false;  // As FarmCoreOptions.
  size_t most_jobs = 16;        // As FarmCoreOptions.
  PruningTimes pruning;
  // Decides what is due; must outlive the coordinator, which looks at it whenever something happens. Whoever lets it
  // jump asks the coordinator for something, e.g. Progress.
  Clock* clock = &SystemClock();
  // Makes what judges machines that come over TCP (DeviceGatewayOptions); empty: there is no authority.
  std::function<StatusOr<std::unique_ptr<MachineAuthenticator>>(Store&)> make_authenticator;
  std::string build_id = "lathe";
  std::function<void(std::string)> log = [](std::string) {};
};

class Coordinator : public WorkerChannel {
 public:
  // `store` and `gate` must outlive the coordinator; `gate` may be shared with devices of this machine.
  static StatusOr<std::unique_ptr<Coordinator>> Create(CoordinatorOptions options, std::unique_ptr<Store> store,
                                                       QuietGate& gate);
  // Trials under way stay where they are in the Store. Workers and devices are to be stopped first.
  ~Coordinator() override;
  Coordinator(const Coordinator&) = delete;

  // ---- Clients. Thread-safe.
  // Stores the workloads and the job, and begins with it. The same request id again: the same job.
  StatusOr<CreatedJob> SubmitJob(const JobRequest& request);
  // Goes on with a job of an earlier process. OK if it runs already or has ended.
  Status ResumeJob(int64_t job_id);
  StatusOr<JobRow> CancelJob(int64_t job_id, const std::string& reason);
  StatusOr<JobProgress> Progress(int64_t job_id);
  // What it keeps trying in vain, e.g. to write to a full disk; empty: nothing.
  std::string CurrentTrouble();
  // As FarmCore has them.
  FarmView View();
  // Nullopt: it did not answer within `limit`, or is stopping.
  std::optional<FarmStatistics> Statistics(Duration limit);
  StatusOr<JobStory> Why(int64_t job_id);
  Status SetDeviceService(const std::string& device, const ServiceState& service, const std::string& by);
  StatusOr<ReservationStanding> Reserve(const ReservationRequest& request);
  Status Release(const std::string& device, const Petitioner& who);
  // True once the job has ended; false after `limit`.
  bool WaitForJob(int64_t job_id, Duration limit);
  bool WaitForJob(int64_t job_id, const std::stop_token& stop);  // False once `stop` is asked for.
  // Gives all leases back, so that what was assigned returns to its queue uncounted. Jobs stay open in the Store;
  // nothing new begins.
  void Drain();

  // ---- Workers (WorkerChannel): in process as it is; a service calls SynchronizeLater.
  StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) override;
  Status StoreArtifact(const Digest& digest, const std::string& content) override;
  // Answers on some thread, once, at the latest when request.wait_ns is over.
  void SynchronizeLater(const v1::SynchronizeRequest& request,
                        std::function<void(StatusOr<v1::SynchronizeResponse>)> answer);

  // ---- Devices connect here.
  DeviceGateway& gateway();
  Store& store();

 private:
  class Impl;
  explicit Coordinator(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
