// The values that go in and out of the Store: plain structs, no SQL, no generated types.
// Times are Unix nanoseconds and always come from the caller; durations are nanoseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/certificate.h"
#include "support/clock.h"
#include "support/digest.h"
#include "support/role.h"
#include "support/status.h"
#include "tracker/lease_store.h"
#include "tuner/job/device_health.h"
#include "tuner/job/trial_state.h"

namespace lathe {

// Raised when emitted code may run differently. Text form "19.3": LLVM's major version, our revision (both 0..999999).
struct CodegenVersion {
  int32_t llvm_major = 0;
  int32_t revision = 0;
  std::string ToString() const;
  static StatusOr<CodegenVersion> Parse(std::string_view text);
  auto operator<=>(const CodegenVersion&) const = default;
};

// What a result holds for. Two results with different keys are never compared.
struct TuningKey {
  Digest workload;
  std::string target;        // Canonical, with -num-cores.
  std::string device_class;  // The key under which equal devices are lent ("rpi4"); a job asks for one of its devices.
  std::string cache_regime;  // "hot", "warm-weights", "cold".
  CodegenVersion codegen_version;
  int64_t policy_version = 0;  // Of the measurement policy.
  auto operator<=>(const TuningKey&) const = default;
};

// `digest` is that of the canonical text; `text` is the first text that was stored under it. Traces refer to its names.
struct Workload {
  Digest digest;
  std::string name;
  std::string text;
  bool operator==(const Workload&) const = default;
};

enum class JobState : uint8_t { kQueued, kRunning, kDone, kFailed, kCancelled };  // Of a task too.
std::string_view JobStateName(JobState state);
std::optional<JobState> ParseJobState(std::string_view name);
inline bool IsTerminal(JobState state) { return state >= JobState::kDone; }

struct NewTask {
  TuningKey key;  // Its workload is stored already.
  std::string name;
  int64_t weight = 1;        // How often the network runs it.
  int64_t trial_budget = 0;  // Trials that its key shall have in all, those of earlier jobs included.
};
struct NewJob {
  std::string request_id;  // Chosen by the client; the same id again returns the same job.
  std::string name;
  std::string spec;  // The request as its service wrote it; opaque here.
  std::vector<NewTask> tasks;
  std::string submitter;  // A user's name; empty: whoever may use the server's own socket.
};
struct JobRow {
  int64_t id = 0;
  std::string request_id, name, spec;
  JobState state = JobState::kQueued;
  std::string detail;  // Why it ended; before, what it waits for.
  int64_t created_unix_ns = 0, updated_unix_ns = 0;
  std::string submitter;
};
struct CreatedJob {
  JobRow job;
  bool created = false;  // False: the request had been seen before.
};
struct TaskRow {
  int64_t id = 0, job_id = 0;
  int64_t position = 0;  // In the order of NewJob::tasks.
  TuningKey key;
  std::string name;
  int64_t weight = 1, trial_budget = 0;
  JobState state = JobState::kQueued;
};
struct TaskCounts {
  int64_t by_state[kTrialStateCount] = {};  // Indexed by TrialState.
  int64_t trials_done = 0;                  // Trials of this task that spent budget.
  int64_t trials_open = 0;                  // Not terminal yet.
};

struct NewTrial {
  Digest trace_digest;
  std::string trace_json;
  std::optional<double> predicted_score;
  uint64_t seed = 0;  // Of the search step that made it.
};
struct TrialRow {
  int64_t id = 0, task_id = 0, job_id = 0;
  int64_t final_round = 0;  // 1, 2, ...: measures a finalist of the task again. 0: a candidate of the search.
  Digest trace_digest;
  std::string trace_json;
  std::optional<double> predicted_score;
  uint64_t seed = 0;
  TrialState state = TrialState::kProposed;
  int64_t attempt = 0;
  int64_t infra_failures = 0, noisy_runs = 0;
  int64_t not_before_unix_ns = 0;
  std::string worker;  // Empty unless BUILDING.
  int64_t slot = 0;
  std::optional<int64_t> device_id, epoch;  // Set while ASSIGNED or RUNNING.
  std::optional<Digest> module_digest;
  std::string error;
  int64_t updated_unix_ns = 0;
};
// A candidate that is to be measured again.
struct NewFinalist {
  Digest trace_digest;
  std::string trace_json;
  uint64_t seed = 0;
  std::optional<Digest> module_digest;  // As it was built before: not built again while the database knows it.
};
struct TrialFilter {
  std::optional<int64_t> job_id, task_id, trial_id;
  std::optional<int64_t> device_id;  // That has it now. Ignored by claims.
  std::vector<TrialState> states;    // Empty: all. Ignored by claims.
  bool only_finals = false;          // Likewise.
};
struct MeasureClaim {
  int64_t device_id = 0, epoch = 0;
  TrialFilter filter;
};
struct Page {
  int64_t after_id = 0;  // The last id of the page before.
  int limit = 100;
};

struct BuiltArtifact {
  Digest module_digest;
  int64_t size_bytes = 0;
};
struct BuildFailure {
  TrialState outcome = TrialState::kBuildError;  // Satisfies IsBuildFailure.
  std::string error;                             // The compiler's words.
};
struct BuildReport {
  int64_t trial_id = 0, attempt = 0;
  std::variant<BuiltArtifact, BuildFailure> outcome;
  std::string environment;  // Facts about the worker, JSON; stored with the record of a failure.
};

struct Timings {
  double median_ns = 0, min_ns = 0, p90_ns = 0, mad_ns = 0;
  double ci_low_ns = 0, ci_high_ns = 0;  // 95 % of the median.
  int64_t runs = 0;
  std::vector<double> samples_ns;
  std::optional<double> max_error;  // Largest |out - reference| over all outputs; nullopt: not checked.
  bool operator==(const Timings&) const = default;
};
struct RunResult {
  int64_t trial_id = 0, attempt = 0, device_id = 0, epoch = 0;
  Digest module_digest;
  TrialState outcome = TrialState::kOk;  // Satisfies IsMeasureOutcome.
  std::optional<Timings> timings;        // Exactly for OK, NOISY and CENSORED.
  std::string environment;               // What was in force while it ran, JSON.
  std::string error;                     // The runner's words.
};
// Who was given a trial, and what became of that.
struct AttemptRow {
  int64_t attempt = 0;
  std::string worker;                              // Builds it; or
  std::string device;                              // measures it
  int64_t epoch = 0;                               // under this lease.
  std::string state;                               // "HELD", "REPORTED", "FAILED", "RETURNED"
  std::string error;                               // Why it ended, if it told nothing.
  int64_t claimed_unix_ns = 0, ended_unix_ns = 0;  // The latter: 0 while it is held.
};
// Names an attempt by all that its holder was told: what does not match in every part was never asked for.
struct AttemptFence {
  int64_t trial_id = 0, attempt = 0;
  int64_t device_id = 0, epoch = 0;  // 0: no device holds it; a worker does, or nobody.
};
enum class Ack : uint8_t {
  kAccepted,   // Committed and counted.
  kDuplicate,  // Had been committed before; nothing changed.
  kStale,  // Not of an attempt that is under way: the sender forgets it. A valid result of an attempt that was is kept
           // as a late record.
};
struct CommitAnswer {
  Ack ack = Ack::kAccepted;
  std::optional<int64_t> record_id;                // None: stale and not kept, or a build that gave an artifact.
  TrialState trial_state = TrialState::kProposed;  // Afterwards.
  bool new_best = false;
};

// What was learned from one trial. Immutable once committed.
struct TuningRecord {
  int64_t id = 0;
  Digest result_key;
  TuningKey key;
  Digest trace_digest;
  std::string trace_json;
  std::optional<int64_t> trial_id;  // None: imported.
  int64_t attempt = 0;
  std::string device;  // Name; empty for a failed build.
  int64_t epoch = 0;
  std::optional<Digest> module_digest;
  TrialState status = TrialState::kOk;
  bool late = false;        // Of an attempt that had ended: it informs and is never best.
  int64_t final_round = 0;  // 1, 2, ...: of a finalist, measured again; 0: of a search.
  std::optional<Timings> timings;
  std::string environment;
  uint64_t seed = 0;
  std::string error;
  int64_t committed_unix_ns = 0;
  bool operator==(const TuningRecord&) const = default;
};

// What became of a candidate, without all that its record says besides.
struct RecordOutcome {
  int64_t id = 0;
  std::optional<int64_t> trial_id;
  TrialState status = TrialState::kOk;
  bool late = false;
  int64_t final_round = 0;
  std::optional<double> median_ns;
};

// A schedule that another tuner wrote for a workload. It informs a search and is no answer until Lathe has measured it.
struct ForeignTrace {
  Digest workload;
  Digest trace_digest;
  std::string trace_json;
  std::string source;               // Whose tuner: "tvm".
  std::string target;               // In its words.
  std::optional<double> median_ns;  // As it measured, on a machine of its own; none: it did not.
  bool operator==(const ForeignTrace&) const = default;
};

// One time that a search's cost model learned from a batch of results of a task.
struct ModelRound {
  int64_t trials = 0;  // Results of the task that the search knew afterwards: no two rounds of a task share it.
  int64_t at_unix_ns = 0;
  int64_t batch = 0, rows = 0;         // Results learned from now; all that the model holds, those of other tasks too.
  int64_t pairs = 0, pairs_right = 0;  // Of the batch, as the model ranked it before it learned from it.
  double regret_at_1 = 0, regret_at_8 = 0;  // Best of the k ranked first over the best of the batch, minus 1.
  bool refitted = false;                    // Trained anew; otherwise trees were added.
  int64_t trees = 0;                        // Of one booster.
  double draft_weight = 0;                  // Of the draft estimate in the score.
  bool operator==(const ModelRound&) const = default;
};

// What a build asked for and did not get.
struct AskedWorkload {
  Workload workload;
  std::string target;   // Canonical.
  std::string network;  // What the build was of, for people.
  int64_t weight = 1;   // Calls per inference of that network.
  bool operator==(const AskedWorkload&) const = default;
};
struct AskedRow {
  int64_t id = 0;
  AskedWorkload asked;
  int64_t times = 0;
  int64_t first_unix_ns = 0, last_unix_ns = 0;
};
inline constexpr int64_t kMostAsked = 10'000;  // Rows that a database keeps.

enum class Lookup : uint8_t { kHit, kStale, kMiss };
struct BestAnswer {
  Lookup lookup = Lookup::kMiss;
  std::optional<TuningRecord> record;  // Without samples. None on a miss.
  std::string explanation;             // Of STALE and MISS: what the database holds instead.
};

struct NewDevice {
  std::string name, device_class;
  std::string facts;       // JSON.
  int64_t epoch_seen = 0;  // The highest epoch the device remembers; the row never falls below it.
};
// As device_health.h has it; times by the wall clock, 0: none.
struct HealthRow {
  HealthState state = HealthState::kUnknown;
  std::string words;
  double golden_ns = 0;
  std::optional<Digest> golden_module;
  int64_t failed_checks = 0;
  int64_t checked_unix_ns = 0, probe_unix_ns = 0;
  bool operator==(const HealthRow&) const = default;
};
struct DeviceRow {
  int64_t id = 0;
  std::string name, device_class, facts;
  int64_t epoch = 0;
  int64_t registered_unix_ns = 0, last_seen_unix_ns = 0;
  ServiceState service;
  int64_t service_unix_ns = 0;  // Since when; 0: from the beginning.
  HealthRow health;
};
enum class LeaseState : uint8_t { kGranted, kReleased, kExpired, kRevoked };
struct LeaseRow {
  int64_t id = 0, device_id = 0, epoch = 0;
  std::string holder;
  LeaseState state = LeaseState::kGranted;
  int64_t granted_unix_ns = 0, expires_unix_ns = 0;
  Duration remaining{};  // When it was read, by the Store's time; it may have run out.
};

// Whether what was given out still counts, by the Store's time when it was read.
enum class Standing : uint8_t { kInForce, kExpired, kRevoked, kTaken };  // kTaken: of an invitation only.
std::string_view StandingName(Standing standing);                        // "in force", ...

struct NewInvitation {
  Digest code;                // InvitationCode::SecretDigest.
  Role role = Role::kDevice;  // Or kWorker.
  std::string name;           // Empty: who joins chooses one that nobody has.
  Duration valid{};
};
struct InvitationRow {
  int64_t id = 0;
  Role role = Role::kDevice;
  std::string name;
  int64_t created_unix_ns = 0, expires_unix_ns = 0;
  Standing standing = Standing::kInForce;
};
struct NewCertificate {
  CertificateSerial serial;
  CertificateSubject subject;  // Of a device or a worker.
  Validity validity;           // As it says.
};
struct CertificateRow {
  int64_t id = 0;
  CertificateSerial serial;
  CertificateSubject subject;
  Validity validity;
  int64_t added_unix_ns = 0;
  std::optional<int64_t> revoked_unix_ns;
  std::string revoked_because;
  Standing standing = Standing::kInForce;
};
struct NewToken {
  Digest secret;  // AccessToken::SecretDigest.
  std::string user;
  Role role = Role::kViewer;  // Or kSubmitter, kAdmin.
  Duration valid{};
};
struct TokenRow {
  int64_t id = 0;
  std::string user;
  Role role = Role::kViewer;
  int64_t created_unix_ns = 0, expires_unix_ns = 0;
  std::optional<int64_t> revoked_unix_ns;
  Standing standing = Standing::kInForce;
};

struct EventRow {
  int64_t cursor = 0;  // Rises with each commit; a stream resumes after the last one it saw.
  int64_t at_unix_ns = 0;
  // "job", "task", "trial", "best", "device", "lease"; "invitation", "certificate", "token", "refusal".
  std::string kind;
  std::optional<int64_t> job_id;
  int64_t subject_id = 0;  // Of the job, task, trial, record, device, lease, invitation, certificate or token; else 0.
  std::string detail;
};

struct StoreStats {
  int64_t workloads = 0, jobs = 0, trials = 0, records = 0, best = 0, devices = 0, events = 0;
  int64_t file_bytes = 0, wal_bytes = 0;
  int64_t operations = 0, commits = 0;  // Since this process opened it.
};

}  // namespace lathe
