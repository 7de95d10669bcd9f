#include "tuner/service/coordinator_core.h"

namespace lathe {
namespace {

Status ShuttingDown() { return Unavailable("synchronize: the server is being stopped; connect again"); }

}  // namespace

StatusOr<CreatedJob> CoordinatorCore::SubmitJob(const JobRequest& request) { return coordinator_.SubmitJob(request); }

void CoordinatorCore::SynchronizeLater(const v1::SynchronizeRequest& request, WorkerAnswer answer) {
  int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) waiting_[id = ++next_id_] = std::move(answer);
  }
  if (id == 0) return answer(ShuttingDown());
  coordinator_.SynchronizeLater(request, [this, id](StatusOr<v1::SynchronizeResponse> response) {
    if (const WorkerAnswer waiting = TakeWaiting(id)) waiting(std::move(response));
  });
}

WorkerAnswer CoordinatorCore::TakeWaiting(int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto node = waiting_.extract(id);
  return node.empty() ? nullptr : std::move(node.mapped());
}

void CoordinatorCore::SendWorkersAway() {
  std::map<int64_t, WorkerAnswer> waiting;
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    waiting.swap(waiting_);
  }
  for (const auto& [id, answer] : waiting) answer(ShuttingDown());
}

}  // namespace lathe
