// How a runner ended, by name: ClassifyRunnerEnd.
#include <signal.h>
#include <sys/wait.h>

#include <cstring>

#include "runner/runner_process.h"

namespace lathe {
namespace {

constexpr int64_t kMuchMemory = 8;  // One part in so many of the limit.

RunReport Failure(RunStatus status, std::string message, int signal = 0) {
  return {.status = status, .signal = signal, .message = std::move(message)};
}

std::string Seconds(int64_t ns) { return FormatText("%.3g s", static_cast<double>(ns) * 1e-9); }

RunReport ClassifySignal(const RunnerEnd& end, int signal) {
  const char* name = sigabbrev_np(signal) != nullptr ? sigabbrev_np(signal) : "?";
  if (signal == SIGXCPU || (signal == SIGKILL && end.cpu_limit_ns > 0 && end.cpu_ns >= end.cpu_limit_ns)) {
    return Failure(RunStatus::kRunTimeout, "run kernel: used up its CPU time of " + Seconds(end.cpu_limit_ns), signal);
  }
  if (end.group_kills > 0)
    return Failure(RunStatus::kOutOfMemory,
                   FormatText("run kernel: out of memory, its processes held more than %lld bytes together",
                              static_cast<long long>(end.memory_limit_bytes)),
                   signal);
  if (signal == SIGKILL) {  // Not from us. When memory runs out, the kernel takes whoever has much of it.
    const bool had_much = end.max_resident_bytes >= end.memory_limit_bytes / kMuchMemory;
    const std::string held = FormatText("it held %lld MiB", static_cast<long long>(end.max_resident_bytes >> 20));
    if (!had_much)
      return Failure(RunStatus::kRunnerError,
                     "run kernel: killed by SIGKILL from outside; " + held + ", so not for its memory", signal);
    return Failure(RunStatus::kOutOfMemory,
                   "run kernel: killed by SIGKILL from outside, as the kernel does when memory runs out; " + held,
                   signal);
  }
  const bool crash_reported = end.report.has_value() && (end.report->status == RunStatus::kCrash ||
                                                         end.report->status == RunStatus::kOutOfMemory);
  if (crash_reported) return Failure(end.report->status, end.report->message, signal);
  return Failure(RunStatus::kCrash, FormatText("run kernel: SIG%s", name), signal);
}

}  // namespace

RunReport ClassifyRunnerEnd(const RunnerEnd& end) {
  const bool exited = WIFEXITED(end.wait_status);
  const int code = exited ? WEXITSTATUS(end.wait_status) : 0;
  const int signal = WIFSIGNALED(end.wait_status) ? WTERMSIG(end.wait_status) : 0;
  const bool complete = exited && code == 0 && end.report.has_value() && end.protocol_error.empty();
  if (end.stopped.has_value() && !complete) return Failure(*end.stopped, end.stop_reason, signal);
  if (!end.was_ready || !end.had_spec) {
    if (end.report.has_value()) return Failure(RunStatus::kRunnerError, end.report->message);
    return Failure(RunStatus::kRunnerError,
                   signal != 0 ? FormatText("start runner: ended by signal %d before it had a trial", signal)
                               : FormatText("start runner: exited with code %d before it had a trial", code),
                   signal);
  }
  if (signal != 0) return ClassifySignal(end, signal);
  if (!end.protocol_error.empty())
    return Failure(RunStatus::kRunnerError, "run kernel: the runner sent garbage: " + end.protocol_error);
  if (!end.report.has_value()) {
    return Failure(
        RunStatus::kRunnerError,
        FormatText("run kernel: the runner exited with code %d without a report; did the kernel exit?", code));
  }
  if (code != 0 && end.report->status != RunStatus::kRunnerError) {
    return Failure(RunStatus::kRunnerError,
                   FormatText("run kernel: the runner exited with code %d after its report", code));
  }
  if (end.report->status == RunStatus::kCrash) {
    return Failure(RunStatus::kRunnerError, "run kernel: a crash was reported, but the runner exited normally");
  }
  return *end.report;
}

}  // namespace lathe
