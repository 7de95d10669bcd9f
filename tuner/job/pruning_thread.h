// Prunes a database now and then, slowly, while its server does other things (tuner/database/prune.h).
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tuner/database/prune.h"
#include "tuner/job/quiet_gate.h"

namespace lathe {

struct PruningTimes {
  Duration first = std::chrono::minutes(1);  // After the start.
  Duration every = std::chrono::hours(1);
  Duration pause = std::chrono::milliseconds(100);  // Between steps; and none begins in a timed window.
};

class PruningThread {
 public:
  // All of these must outlive it.
  PruningThread(PruningTimes times, Store& store, BlobFiles& files, QuietGate& gate,
                std::function<void(std::string)> log);
  ~PruningThread();  // At the end of a step.
  PruningThread(const PruningThread&) = delete;

 private:
  void Run();
  void PruneOnce();
  bool Wait(Duration duration);  // False: it is stopping.

  const PruningTimes times_;
  Store& store_;
  BlobFiles& files_;
  QuietGate& gate_;
  const std::function<void(std::string)> log_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;        // Last: starts when all else is ready.
};

}  // namespace lathe
