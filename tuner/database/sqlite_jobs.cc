// Workloads, jobs and tasks.
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

constexpr size_t kShortestPrefix = 8;

StatusOr<Workload> ReadWorkload(Connection& db, const Digest& digest) {
  std::optional<Workload> workload;
  RETURN_IF_ERROR(db.Each(
      "SELECT digest, name, text FROM workload WHERE digest = ?",
      [&](const Row& row) { workload = Workload{row.Sha(0), row.String(1), row.String(2)}; }, digest));
  if (!workload.has_value())
    return NotFound(
        fmt::format("read workload {}: not in the database; tune it or import its records", digest.ToHex()));
  return *std::move(workload);
}

// Every part with its length, so that no two requests share a digest.
Digest ContentDigest(const NewJob& job) {
  std::string text;
  const auto add = [&](std::string_view part) { text += fmt::format("{}:{}", part.size(), part); };
  add(job.spec);
  for (const NewTask& task : job.tasks) {
    for (const std::string& part : {task.key.workload.ToHex(), task.key.target, task.key.device_class,
                                    task.key.cache_regime, task.key.codegen_version.ToString(), task.name}) {
      add(part);
    }
    text += fmt::format("{}/{}/{};", task.key.policy_version, task.weight, task.trial_budget);
  }
  return Sha256(text);
}

Status CheckNewJob(const NewJob& job) {
  if (job.request_id.empty())
    return InvalidArgument("create job: the request id is empty; send a fresh random one per request");
  if (job.tasks.empty())
    return InvalidArgument(fmt::format("create job \"{}\": no tasks; nothing in it can be tuned", job.name));
  for (const NewTask& task : job.tasks) {
    if (task.weight >= 0 && task.trial_budget >= 0) continue;
    return InvalidArgument(
        fmt::format("create job \"{}\" task \"{}\": weight {} and trial budget {} must not be negative", job.name,
                    task.name, task.weight, task.trial_budget));
  }
  return OkStatus();
}

StatusOr<std::optional<CreatedJob>> FindRepeated(Connection& db, const NewJob& job, const Digest& content) {
  std::optional<int64_t> id;
  bool same = false;
  RETURN_IF_ERROR(db.Each(
      "SELECT id, content_digest, submitter FROM job WHERE request_id = ?",
      [&](const Row& row) {
        id = row.Int(0);
        same = row.Sha(1) == content && row.Text(2) == job.submitter;
      },
      job.request_id));
  if (!id.has_value()) return std::optional<CreatedJob>();
  if (!same) {
    return AlreadyExists(
        fmt::format("create job \"{}\": request id {} belongs to job {}, which asks for something else; use a new "
                    "request id",
                    job.name, job.request_id, *id));
  }
  ASSIGN_OR_RETURN(JobRow row, ReadJob(db, *id));
  return std::optional<CreatedJob>(CreatedJob{std::move(row), false});
}

#define LATHE_TASK_QUERY                                                                             \
  "SELECT t.id, t.job_id, t.position, t.name, t.weight, t.trial_budget, t.state, " LATHE_KEY_COLUMNS \
  " FROM task t JOIN tuning_key k ON k.id = t.key_id" LATHE_KEY_JOINS

Status AddTask(const Row& row, std::vector<TaskRow>& tasks) {
  ASSIGN_OR_RETURN(const JobState state, ReadJobState(row, 6));
  tasks.push_back({row.Int(0), row.Int(1), row.Int(2), ReadKey(row, 7), row.String(3), row.Int(4), row.Int(5), state});
  return OkStatus();
}

StatusOr<TaskRow> ReadTask(Connection& db, int64_t task_id) {
  std::vector<TaskRow> tasks;
  RETURN_IF_ERROR(
      db.Each(LATHE_TASK_QUERY "WHERE t.id = ?", [&](const Row& row) { return AddTask(row, tasks); }, task_id));
  if (tasks.empty()) return NotFound(fmt::format("read task {}: no such task", task_id));
  return std::move(tasks.front());
}

Status CheckLeaves(std::string_view what, int64_t id, JobState from, JobState to) {
  if (!IsTerminal(from) || from == to) return OkStatus();
  return FailedPrecondition(fmt::format("set {} {} to {}: it is {} already, and an ended {} stays so; submit a new one",
                                        what, id, JobStateName(to), JobStateName(from), what));
}

Status WriteJobState(Connection& db, const JobRow& job, JobState state, std::string_view detail, int64_t now) {
  RETURN_IF_ERROR(db.Run("UPDATE job SET state = ?, detail = ?, updated_unix_ns = ? WHERE id = ?", JobStateName(state),
                         detail, now, job.id));
  const std::string words =
      detail.empty() ? std::string(JobStateName(state))
                     : fmt::format("{}: {}{}", JobStateName(state), IsTerminal(state) ? "" : "waits: ", detail);
  return AddEvent(db, now, "job", job.id, job.id, words);
}

Status CancelParts(Connection& db, int64_t job_id, int64_t now) {
  RETURN_IF_ERROR(
      db.Run("UPDATE task SET state = 'CANCELLED' WHERE job_id = ? AND state IN ('QUEUED', 'RUNNING')", job_id));
  std::vector<int64_t> open;
  RETURN_IF_ERROR(db.Each(
      "SELECT id FROM trial WHERE task_id IN (SELECT id FROM task WHERE job_id = ?) AND state IN ('PROPOSED', "
      "'BUILD_QUEUED', 'BUILDING', "
      "'BUILT', 'MEAS_QUEUED', 'ASSIGNED', 'RUNNING')",
      [&](const Row& row) { open.push_back(row.Int(0)); }, job_id));
  for (const int64_t id : open) {
    ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, id));
    RETURN_IF_ERROR(CancelTrial(db, trial, now));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Workload> SqliteStore::PutWorkload(const Workload& workload) {
  const int64_t now = time_.Now();
  if (workload.text.empty())
    return InvalidArgument(fmt::format("put workload {}: its text is empty", workload.digest.ToHex()));
  return Write([&](Connection& db) -> StatusOr<Workload> {
    RETURN_IF_ERROR(db.Run("INSERT OR IGNORE INTO workload (digest, name, text, added_unix_ns) VALUES (?, ?, ?, ?)",
                           workload.digest, workload.name, workload.text, now));
    return ReadWorkload(db, workload.digest);
  });
}

StatusOr<Workload> SqliteStore::GetWorkload(const Digest& digest) {
  return Read([&](Connection& db) { return ReadWorkload(db, digest); });
}

StatusOr<std::vector<Digest>> SqliteStore::FindWorkloads(std::string_view hex_prefix) {
  if (hex_prefix.size() < kShortestPrefix || hex_prefix.size() > 64) {
    return InvalidArgument(fmt::format("find workload \"{}\": {} characters, 8 to 64 hex digits required",
                                       hex_prefix.substr(0, 80), hex_prefix.size()));
  }
  std::string low(hex_prefix), high(hex_prefix);
  low.resize(64, '0');
  high.resize(64, 'f');
  ASSIGN_OR_RETURN(const Digest first, Digest::FromHex(low));
  ASSIGN_OR_RETURN(const Digest last, Digest::FromHex(high));
  return Read([&](Connection& db) -> StatusOr<std::vector<Digest>> {
    std::vector<Digest> found;
    RETURN_IF_ERROR(db.Each(
        "SELECT digest FROM workload WHERE digest BETWEEN ? AND ? ORDER BY digest LIMIT 10",
        [&](const Row& row) { found.push_back(row.Sha(0)); }, first, last));
    return found;
  });
}

StatusOr<std::vector<Workload>> SqliteStore::ListWorkloads(const std::optional<Digest>& after, int limit) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<Workload>> {
    std::vector<Workload> workloads;
    const std::string_view from = after.has_value() ? after->raw() : std::string_view();
    RETURN_IF_ERROR(db.Each(
        "SELECT digest, name, text FROM workload WHERE digest > ? ORDER BY digest LIMIT ?",
        [&](const Row& row) { workloads.push_back({row.Sha(0), row.String(1), row.String(2)}); }, sqlite::Bytes{from},
        limit));
    return workloads;
  });
}

StatusOr<CreatedJob> SqliteStore::CreateJob(const NewJob& job) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckNewJob(job));
  const Digest content = ContentDigest(job);
  return Write([&](Connection& db) -> StatusOr<CreatedJob> {
    ASSIGN_OR_RETURN(std::optional<CreatedJob> repeated, FindRepeated(db, job, content));
    if (repeated.has_value()) return *std::move(repeated);
    RETURN_IF_ERROR(db.Run(
        "INSERT INTO job (request_id, name, spec, content_digest, state, detail, created_unix_ns, updated_unix_ns, "
        "submitter) VALUES (?, ?, ?, ?, 'QUEUED', '', ?, ?, ?)",
        job.request_id, job.name, job.spec, content, now, now, job.submitter));
    const int64_t job_id = db.last_insert_id();
    int64_t position = 0;
    for (const NewTask& task : job.tasks) {
      ASSIGN_OR_RETURN(const int64_t key_id, InternKey(db, task.key));
      RETURN_IF_ERROR(
          db.Run("INSERT INTO task (job_id, position, key_id, name, weight, trial_budget, state) VALUES (?, ?, ?, ?, "
                 "?, ?, 'QUEUED')",
                 job_id, position++, key_id, task.name, task.weight, task.trial_budget));
    }
    RETURN_IF_ERROR(AddEvent(db, now, "job", job_id, job_id, "QUEUED"));
    ASSIGN_OR_RETURN(JobRow row, ReadJob(db, job_id));
    return CreatedJob{std::move(row), true};
  });
}

StatusOr<JobRow> SqliteStore::GetJob(int64_t job_id) {
  return Read([&](Connection& db) { return ReadJob(db, job_id); });
}

StatusOr<std::vector<JobRow>> SqliteStore::ListJobs(const Page& page) {
  return ReadList([&](Connection& db) -> StatusOr<std::vector<JobRow>> {
    std::vector<int64_t> ids;
    RETURN_IF_ERROR(db.Each(
        "SELECT id FROM job WHERE id > ? ORDER BY id LIMIT ?", [&](const Row& row) { ids.push_back(row.Int(0)); },
        page.after_id, page.limit));
    std::vector<JobRow> jobs;
    for (const int64_t id : ids) {
      ASSIGN_OR_RETURN(JobRow job, ReadJob(db, id));
      jobs.push_back(std::move(job));
    }
    return jobs;
  });
}

StatusOr<std::vector<TaskRow>> SqliteStore::ListTasks(int64_t job_id) {
  return Read([&](Connection& db) -> StatusOr<std::vector<TaskRow>> {
    std::vector<TaskRow> tasks;
    RETURN_IF_ERROR(db.Each(
        LATHE_TASK_QUERY "WHERE t.job_id = ? AND t.parent_id IS NULL ORDER BY t.position",
        [&](const Row& row) { return AddTask(row, tasks); }, job_id));
    if (tasks.empty()) return NotFound(fmt::format("list tasks of job {}: no such job", job_id));
    return tasks;
  });
}

StatusOr<TaskRow> SqliteStore::GetTask(int64_t task_id) {
  return Read([&](Connection& db) { return ReadTask(db, task_id); });
}

Status SqliteStore::SetJobState(int64_t job_id, JobState state, std::string_view detail) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> Status {
    ASSIGN_OR_RETURN(const JobRow job, ReadJob(db, job_id));
    RETURN_IF_ERROR(CheckLeaves("job", job_id, job.state, state));
    if (job.state == state && job.detail == detail) return OkStatus();
    return WriteJobState(db, job, state, detail, now);
  });
}

Status SqliteStore::SetTaskState(int64_t task_id, JobState state) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> Status {
    ASSIGN_OR_RETURN(const TaskRow task, ReadTask(db, task_id));
    RETURN_IF_ERROR(CheckLeaves("task", task_id, task.state, state));
    if (task.state == state) return OkStatus();
    RETURN_IF_ERROR(db.Run("UPDATE task SET state = ?1 WHERE id = ?2 OR parent_id = ?2", JobStateName(state), task_id));
    return AddEvent(db, now, "task", task.job_id, task_id, JobStateName(state));
  });
}

StatusOr<JobRow> SqliteStore::CancelJob(int64_t job_id, std::string_view reason) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<JobRow> {
    ASSIGN_OR_RETURN(JobRow job, ReadJob(db, job_id));
    if (IsTerminal(job.state)) return job;
    RETURN_IF_ERROR(CancelParts(db, job_id, now));
    RETURN_IF_ERROR(WriteJobState(db, job, JobState::kCancelled, reason, now));
    return ReadJob(db, job_id);
  });
}

Status SqliteStore::CancelTrials(std::span<const int64_t> trial_ids) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> Status {
    for (const int64_t id : trial_ids) {
      ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, id));
      if (!IsTerminal(trial.state)) RETURN_IF_ERROR(CancelTrial(db, trial, now));
    }
    return OkStatus();
  });
}

StatusOr<std::vector<int64_t>> SqliteStore::CancelWaitingTrials(int64_t job_id) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<std::vector<int64_t>> {
    std::vector<int64_t> waiting;
    RETURN_IF_ERROR(db.Each(
        "SELECT id FROM trial WHERE task_id IN (SELECT id FROM task WHERE job_id = ?) AND state IN ('PROPOSED', "
        "'BUILD_QUEUED', 'BUILT', 'MEAS_QUEUED') ORDER BY id",
        [&](const Row& row) { waiting.push_back(row.Int(0)); }, job_id));
    for (const int64_t id : waiting) {
      ASSIGN_OR_RETURN(const TrialRow trial, ReadTrial(db, id));
      RETURN_IF_ERROR(CancelTrial(db, trial, now));
    }
    return waiting;
  });
}

}  // namespace lathe
