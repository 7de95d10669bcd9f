// What the services need of whoever runs the farm. Reads go to the Store; only what must reach a coordinator is a method.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"
#include "tracker/device_registry.h"
#include "tuner/database/store.h"

namespace lathe {

// A job as it was asked for, checked for form: at least one task, all workloads distinct, their texts parsed.
struct JobRequest {
  struct Task {
    Workload workload;  // Not stored yet.
    std::string name;
    int64_t weight = 1;
    int64_t trial_budget = 0;  // 0: trials_per_task.
  };
  std::string request_id, name;
  std::string target;  // Not parsed: "auto" is for the coordinator to resolve.
  std::string device_key;
  std::vector<Task> tasks;
  int64_t trials = 0;           // Of all tasks together; 0: no such limit.
  int64_t trials_per_task = 0;  // 0: no such limit.
  Duration time_limit{};        // Zero: none.
  bool fresh = false;
  uint64_t seed = 0;
};

// The parts of a TuningKey that a query may leave to the server.
struct KeyDefaults {
  std::string cache_regime;
  CodegenVersion codegen_version;
  int64_t policy_version = 0;
};

struct DeviceView {
  DeviceRow row;
  std::optional<DeviceState> state;  // None: nobody keeps in touch with devices here.
};

// Thread-safe.
class TuningCore {
 public:
  virtual ~TuningCore() = default;
  virtual Store& store() = 0;
  virtual KeyDefaults key_defaults() = 0;
  // Idempotent by request id; kAlreadyExists if that id was used for another job.
  virtual StatusOr<CreatedJob> SubmitJob(const JobRequest& request) = 0;
  virtual StatusOr<JobRow> CancelJob(int64_t job_id, std::string_view reason) = 0;
  virtual StatusOr<std::vector<DeviceView>> ListDevices() = 0;
};

}  // namespace lathe
