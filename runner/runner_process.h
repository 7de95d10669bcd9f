// The supervisor's side of lathe-runner: start it, give it a trial, and name how it ended.
//
// One descriptor tells an event loop when to look: nothing here blocks except Wait, which is for tests and simple
// callers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runner/monotonic.h"
#include "runner/runner_protocol.h"

namespace lathe {

class MemoryGroups;

struct RunnerOptions {
  std::string program;                                                   // Path of lathe-runner.
  std::chrono::nanoseconds start_limit = std::chrono::seconds(10);       // From Spawn to READY.
  std::chrono::nanoseconds term_grace = std::chrono::milliseconds(500);  // From SIGTERM to SIGKILL.
  uint32_t required_sandbox = 0;   // SandboxSteps; a runner that cannot take them ends before its trial.
  MemoryGroups* groups = nullptr;  // Each runner has one of its own there, if given. Outlives the runner.
  bool inherit_stderr = false;     // Else /dev/null: foreign code must not write into our log.
  // What the limits above and a trial's wall limit are compared with. The timer behind poll_fd runs by the machine's
  // clock, so whoever lets another one jump calls Poll.
  std::function<int64_t()> now_ns = MonotonicNs;
};

// How a trial ended and what it cost. `report.status` and `report.message` are final; the numbers of a failed trial are
// zero.
struct RunOutcome {
  RunReport report;
  bool runner_started = false;  // False: the fault lies with the runner, not with the artifact.
  int64_t start_ns = 0;         // Spawn to READY.
  int64_t run_ns = 0;           // Start to the end of the process.
  int64_t cpu_ns = 0;
  int64_t max_resident_bytes = 0;
};

// One lathe-runner, good for one trial. Not thread-safe. A runner dies with the *thread* that spawned it
// (PR_SET_PDEATHSIG), so spawn from a thread that lives as long as the supervisor. It has finished when nothing of it
// lives any more, also what has left its process group. Destroying a RunnerProcess kills it.
class RunnerProcess {
 public:
  enum class State { kStarting, kReady, kRunning, kFinished };

  static RuntimeResult<std::unique_ptr<RunnerProcess>> Spawn(const RunnerOptions& options);
  ~RunnerProcess();
  RunnerProcess(const RunnerProcess&) = delete;
  RunnerProcess& operator=(const RunnerProcess&) = delete;

  // Readable whenever Poll has something to do: a record, the end of the process, a deadline. Level-triggered.
  int poll_fd() const;
  // Takes in all that has happened, without blocking; then look at state().
  void Poll();

  State state() const;
  pid_t pid() const;
  const RunProgress& progress() const;

  // Sends the trial; its wall limit begins now. May be called while the runner is still starting. Once only.
  RuntimeError Start(const RunSpec& spec);
  uint32_t sandbox() const;  // SandboxSteps that it will run behind; from kReady on.
  // Ends the runner: TERM to its process group, KILL after the grace. Its outcome will be `status` with `reason`.
  void Stop(RunStatus status, std::string reason);

  // The result, where state() is kFinished.
  const RunOutcome& outcome() const;

  // Polls until `state` or a later one is reached; false after `limit`.
  bool Wait(State state, std::chrono::nanoseconds limit);

 private:
  class Impl;
  explicit RunnerProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// What the end of a runner means: pure, so that every way to die is a line of a test.
struct RunnerEnd {
  int wait_status = 0;               // As waitpid gives it.
  std::optional<RunReport> report;   // The last valid one.
  std::string protocol_error;        // Why a record was refused; empty if none was.
  std::optional<RunStatus> stopped;  // Why we ended it, if we did,
  std::string stop_reason;           // in words.
  bool was_ready = false;
  bool had_spec = false;
  int64_t wall_limit_ns = 0;
  int64_t cpu_limit_ns = 0, cpu_ns = 0;
  int64_t memory_limit_bytes = 0;  // Of the trial, or of the machine if that is less.
  int64_t max_resident_bytes = 0;
  int64_t group_kills = 0;  // How often its group was found to hold more than it may.
};
RunReport ClassifyRunnerEnd(const RunnerEnd& end);

}  // namespace lathe
