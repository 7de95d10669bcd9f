#include "tuner/job/synchronize_check.h"

#include <fmt/format.h>

#include "rpc/device_message.h"
#include "support/status_macros.h"
#include "tuner/worker/worker_channel.h"

namespace lathe {
namespace {

constexpr int kMaxSlots = 1024;
constexpr int kMaxTasks = 4 * kMaxSlots;
constexpr int kMaxKnownWorkloads = 1024;
constexpr size_t kDigestBytes = 32;

Status CheckCount(std::string_view field, int count, int limit) {
  if (count >= 0 && count <= limit) return OkStatus();
  return InvalidArgument(fmt::format("{}: {}, 0 to {} required; declare fewer", field, count, limit));
}

Status CheckDigest(std::string_view field, const std::string& digest) {
  if (digest.size() == kDigestBytes) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: a digest of {} bytes, {} required; upgrade the worker", field, digest.size(), kDigestBytes));
}

Status CheckTask(const v1::BuildState& task) {
  if (task.has_artifact()) {
    RETURN_IF_ERROR(CheckDigest("artifact", task.artifact().digest()));
    if (task.artifact().size() < 1 || task.artifact().size() > kMaxBlobBytes)
      return InvalidArgument(
          fmt::format("artifact: size {} bytes, 1 to {} required", task.artifact().size(), kMaxBlobBytes));
  }
  if (task.failure().message().size() > kMaxBuildErrorBytes)
    return InvalidArgument(fmt::format("failure: a message of {} bytes, at most {} are accepted; shorten it",
                                       task.failure().message().size(), kMaxBuildErrorBytes));
  return OkStatus();
}

Status CheckTasks(const v1::SynchronizeRequest& request) {
  RETURN_IF_ERROR(CheckCount("tasks", request.tasks_size(), kMaxTasks));
  for (const v1::BuildState& task : request.tasks())
    RETURN_IF_ERROR(CheckTask(task).WithContext(fmt::format("trial {}", task.trial_id())));
  return OkStatus();
}

Status CheckRest(const v1::SynchronizeRequest& request) {
  RETURN_IF_ERROR(CheckCount("slots", request.worker().slots(), kMaxSlots));
  RETURN_IF_ERROR(CheckCount("known_workloads", request.known_workloads_size(), kMaxKnownWorkloads));
  for (const std::string& digest : request.known_workloads()) RETURN_IF_ERROR(CheckDigest("known_workloads", digest));
  return CheckTasks(request);
}

}  // namespace

Status CheckSynchronizeRequest(const v1::SynchronizeRequest& request) {
  RETURN_IF_ERROR(CheckDeviceName("worker name", request.worker().name()));
  return CheckRest(request).WithContext(fmt::format("synchronize worker \"{}\"", request.worker().name()));
}

}  // namespace lathe
