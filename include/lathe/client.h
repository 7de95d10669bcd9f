// A client of Lathe's server (`lathe up`): submit jobs, watch them, cancel them, ask for the best schedules. C++20;
// link Lathe::client. Nothing of gRPC or protobuf is in here, but a program must not have lathe.v1's messages of its
// own beside it: protobuf knows each once.
//
// Threads: a Client may be used from several at once. It connects when first used; make it after a fork, not before.
// Errors: values, never exceptions: gRPC's code, and the server's own sentence.
// Times are nanoseconds; digests 64 hex digits.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#define LATHE_CLIENT_API __attribute__((visibility("default")))

namespace lathe::client {

struct Error {
  int code = 0;         // gRPC's number: 5 is NOT_FOUND.
  std::string message;  // "get job at unix:/run/lathe.sock: job 77: no such job; ..."
};
template <typename T>
using Result = std::variant<T, Error>;

// A kernel to tune: TVMScript of one PrimFunc.
struct TaskSpec {
  std::string workload;
  std::string name = {};  // For display; empty: the function's.
  int64_t weight = 1;     // How often a network calls it.
  int64_t trials = 0;     // 0: what the job says.
};
struct JobRequest {
  std::vector<TaskSpec> tasks;
  std::string device;           // Key of the devices to measure on.
  std::string target = "auto";  // Or what these devices say of themselves.
  std::string name = "from C++";
  int64_t trials = 0;  // Of all tasks together; 0: only `trials_per_task` counts.
  int64_t trials_per_task = 64;
  std::chrono::nanoseconds time_limit{0};  // 0: none.
  uint64_t seed = 0;
  std::string space = {};       // As `lathe tune --space`.
  std::string request_id = {};  // The same again is the same job; empty: a random one.
};

enum class JobState { kUnknown = 0, kQueued = 1, kRunning = 2, kDone = 3, kFailed = 4, kCancelled = 5 };

struct Task {
  int64_t id = 0;
  std::string name, workload, target;
  JobState state = JobState::kUnknown;
  int64_t trials_known = 0, trial_budget = 0;
  std::optional<double> best_ns, untuned_ns;  // None: not measured.
};
struct Job {
  int64_t id = 0;
  std::string name, detail, request_id;  // `detail`: why it waits, or why it ended.
  JobState state = JobState::kUnknown;
  std::vector<Task> tasks;

  bool has_ended() const { return state >= JobState::kDone; }
};
struct Event {
  int64_t cursor = 0, at_unix_ns = 0, subject_id = 0;
  std::string kind, detail;  // "job", "task", "trial", "best"
};
// What happened since the update before, and the job as it is then.
struct Update {
  int64_t cursor = 0;
  std::vector<Event> events;
  Job job;
};

enum class Lookup { kUnknown = 0, kHit = 1, kStale = 2, kMiss = 3 };
struct Best {
  Lookup lookup = Lookup::kUnknown;
  std::string explanation;  // Of STALE and MISS.
  std::string workload, target;
  std::optional<double> median_ns;
  std::string trace;  // The schedule, a trace in TVM's JSON; empty on a miss.
};

struct Options {
  std::chrono::milliseconds deadline = std::chrono::seconds(30);  // Of each call.
  std::chrono::milliseconds patience = std::chrono::seconds(60);  // So long a watch looks for a server that has gone.
  // What `lathe token create` printed: who asks, and the certificate by which a farm on another machine is known.
  // Empty: $LATHE_TOKEN; without either the server must be on this machine, or every call fails.
  std::string token = {};
};

// Calls are harmless to repeat: one that nobody answers is tried up to four times, by gRPC's own backoff.
class LATHE_CLIENT_API Client {
 public:
  // "HOST:PORT" or "unix:PATH".
  explicit Client(const std::string& server, const Options& options = {});
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  Result<Job> Submit(const JobRequest& request);
  Result<Job> GetJob(int64_t job_id);
  Result<Job> Cancel(int64_t job_id, const std::string& reason);
  // Hands over what happens to the job, from the cursor `after` on, until it has ended or `consume` returns false; the
  // job as it was then. A lost connection is taken up where it was, and nothing told twice.
  Result<Job> Watch(int64_t job_id, const std::function<bool(const Update&)>& consume, int64_t after = 0);
  // Of each workload: 64 hex digits, or TVMScript. `target` is canonical, as a task of a job has it.
  Result<std::vector<Best>> QueryBest(std::span<const std::string> workloads, const std::string& target,
                                      const std::string& device);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lathe::client
