// What a worker does next: which task goes into which slot, which build is given up, what it declares. Pure: no thread,
// no channel, no clock; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/lathe/v1/worker.pb.h"
#include "support/clock.h"

namespace lathe {

struct TrialAttempt {
  int64_t trial_id = 0;
  int32_t attempt = 0;
  auto operator<=>(const TrialAttempt&) const = default;
};

class WorkerCore {
 public:
  explicit WorkerCore(v1::WorkerFacts facts);

  // What to send now.
  v1::SynchronizeRequest Declare(Duration wait);
  // Takes in an answer. Returns the slots whose build is to be given up. An answer that was overtaken is ignored.
  std::vector<int> Accept(const v1::SynchronizeResponse& response, TimePoint now);
  // Another process has taken this one's name, and has its tasks. Returns likewise.
  std::vector<int> Replaced();
  // The oldest waiting task, now in `slot`; nullopt if none waits. `workload_text` is that of the task.
  struct Start {
    v1::BuildTask task;
    std::string workload_text;
  };
  std::optional<Start> TakeTask(int slot, TimePoint now);
  // False once the build in `slot` was given up.
  bool IsWanted(int slot) const;
  // The build in `slot` ended; `outcome` holds artifact or failure and what its parts took. False if nobody wants to
  // know any more.
  bool Finish(int slot, v1::BuildState outcome, TimePoint now);
  void Drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  bool is_idle() const { return tasks_.empty(); }

 private:
  struct Task {
    v1::BuildTask task;
    uint64_t order = 0;  // Of arrival.
    TimePoint arrived{}, started{};
    std::optional<int> slot;  // While it is being built.
    std::optional<v1::BuildState> finished;
  };
  std::vector<int> KeepOnly(const std::set<TrialAttempt>& desired);
  void KeepTexts(const v1::SynchronizeResponse& response);

  const v1::WorkerFacts facts_;
  bool is_draining_ = false;
  uint64_t declared_ = 0;  // Sequence number of the latest request ...
  uint64_t accepted_ = 0;  // ... and of the newest one answered.
  uint64_t revision_ = 0;
  uint64_t next_order_ = 0;
  std::map<TrialAttempt, Task> tasks_;
  std::map<std::string, std::string> texts_;  // By raw digest.
};

}  // namespace lathe
