#include "tuner/job/pruning_thread.h"

#include <fmt/format.h>

namespace lathe {

PruningThread::PruningThread(PruningTimes times, Store& store, BlobFiles& files, QuietGate& gate,
                             std::function<void(std::string)> log)
    : times_(times), store_(store), files_(files), gate_(gate), log_(std::move(log)), thread_([this] { Run(); }) {}

PruningThread::~PruningThread() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

bool PruningThread::Wait(Duration duration) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, duration, [&] { return is_stopping_; });
}

void PruningThread::Run() {
  for (Duration wait = times_.first; Wait(wait); wait = times_.every) PruneOnce();
}

void PruningThread::PruneOnce() {
  const auto go_on = [this] {
    gate_.WaitUntilOpen();
    return Wait(times_.pause);
  };
  const StatusOr<PruneReport> report = Prune(store_, files_, {.go_on = go_on});
  if (!report.ok())
    log_(fmt::format("prune the database: {}", report.status().message()));
  else if (report->total() > 0)
    log_(fmt::format("pruned the database: {}", report->ToString()));
}

}  // namespace lathe
