// Looks into /proc for the processes of trials of each board, whoever their parents are by now.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/chaos/history.h"

namespace lathe::chaos {

// Not thread-safe.
class BoardWatch {
 public:
  // A board's runners are known by the path that they were started by, its own for each board.
  explicit BoardWatch(std::vector<std::string> runner_paths) : runner_paths_(std::move(runner_paths)) {}

  // What ran since the last look; boards without two processes that ran are left out.
  std::vector<BoardSample> Look(double at);

 private:
  struct Process {
    int device = -1;  // -1: no runner.
    int looks = 0;    // A process that has just been forked is not yet what it will be.
    int64_t ran_ns = 0;
    bool is_seen = true;
  };
  int DeviceOf(pid_t pid) const;

  const std::vector<std::string> runner_paths_;
  std::map<pid_t, Process> processes_;
};

// Of a process's first thread, as the kernels of this farm have no other; -1 where it is gone.
int64_t ProcessorNanos(pid_t pid);
// All numbers in /proc.
std::vector<pid_t> AllProcesses();
// Whether the process was started with this in its environment.
bool HasInEnvironment(pid_t pid, const std::string& assignment);

}  // namespace lathe::chaos
