// Which workers there are and what each should be building. Pure: no thread, store or clock; not thread-safe.
//
// State is declared on both sides. A task that the worker does not declare although it took in an answer that named it
// is told again; the third time the attempt has failed. A worker that was restarted therefore builds again what it had,
// and nothing is lost or done twice.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/lathe/v1/worker.pb.h"
#include "support/clock.h"
#include "support/status.h"
#include "tuner/job/farm_view.h"

namespace lathe {

inline constexpr Duration kWorkerForgottenAfter = std::chrono::seconds(60);
inline constexpr int kMaxLostDeliveries = 3;
inline constexpr int kTasksAhead = 1;  // Held by a worker beyond its slots, so that a slot never waits for an answer.

class WorkerTable {
 public:
  // Answers are numbered from `first_revision` on; let it rise over restarts.
  explicit WorkerTable(uint64_t first_revision = 0) : revision_(first_revision) {}

  // A worker of which the store knows builds, at start: it is lost unless it is heard in time.
  void Restore(const std::string& worker, TimePoint now);
  // Whether the tasks that the store has for this worker have been taken in (Assign) since it was first heard.
  bool Knows(const std::string& worker) const { return workers_.contains(worker); }

  // What a declaration means. To be done by the caller: commit `finished`, fail `undeliverable`; each then ends with
  // Done.
  struct Heard {
    std::vector<v1::BuildState> finished;  // Of tasks that this worker was given.
    std::vector<v1::BuildTask> undeliverable;
    std::vector<std::pair<int64_t, int32_t>> started;  // (trial, attempt): began since the last declaration.
  };
  // AlreadyExists for a process whose name another one has taken since: two of one name would take turns, and each
  // would lose what the other was given.
  StatusOr<Heard> Hear(const v1::SynchronizeRequest& request, TimePoint now);

  void Assign(const std::string& worker, v1::BuildTask task);
  void Done(const std::string& worker, int64_t trial_id, int32_t attempt);
  // The trials are wanted no more, whoever builds them. Returns the workers that are to be told.
  std::vector<std::string> Withdraw(const std::vector<int64_t>& trial_ids);

  // Tasks that it could take now; 0 when it is draining or unknown.
  int Capacity(const std::string& worker) const;
  uint32_t CodegenVersion(const std::string& worker) const;
  // Something in the answer differs from what the worker declared last.
  bool HasNews(const std::string& worker) const;
  // Without the texts of workloads; `needed_workloads` are those the worker does not hold (raw digests).
  v1::SynchronizeResponse Answer(const std::string& worker, std::vector<std::string>& needed_workloads);

  // Workers that were silent too long; they are forgotten, and their tasks with them.
  std::vector<std::string> PassTime(TimePoint now);
  std::optional<TimePoint> NextDeadline() const;
  int TotalSlots() const;
  int TotalTasks() const;
  int Building() const;  // Builds under way.
  std::vector<std::string> Names() const;
  std::vector<WorkerStanding> Standings(TimePoint now) const;  // By name.

 private:
  struct Task {
    v1::BuildTask task;
    uint64_t told_in = 0;  // Revision of the newest answer that named it while the worker did not have it.
    int lost = 0;          // Times that the worker did not have it although it knew of that answer.
    bool is_declared = false;
    bool is_building = false;
  };
  struct Worker {
    v1::WorkerFacts facts;
    bool is_draining = false;
    bool has_surplus = false;  // It declared something that it should not have.
    TimePoint last_heard{};
    uint64_t sequence = 0;
    std::map<int64_t, Task> tasks;  // By trial.
    std::vector<std::string> known_workloads;
  };
  const Worker* Find(const std::string& worker) const;
  bool HasBeenReplaced(const std::string& worker, uint64_t instance) const;
  void NoteFormer(const v1::WorkerFacts& facts);

  std::map<std::string, Worker> workers_;
  // Instances that had a name before, newest last: others have taken it, or they were silent.
  std::map<std::string, std::deque<uint64_t>> former_;
  uint64_t revision_;
};

}  // namespace lathe
