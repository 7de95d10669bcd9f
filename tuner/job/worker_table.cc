#include "tuner/job/worker_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lathe {
namespace {

constexpr Duration kNextSync = std::chrono::seconds(10);
constexpr size_t kFormerKept = 16;        // Of a name,
constexpr size_t kFormerNamesKept = 256;  // of so many.

}  // namespace

void WorkerTable::Restore(const std::string& worker, TimePoint now) { workers_[worker].last_heard = now; }

StatusOr<WorkerTable::Heard> WorkerTable::Hear(const v1::SynchronizeRequest& request, TimePoint now) {
  const uint64_t instance = request.worker().instance();
  if (HasBeenReplaced(request.worker().name(), instance))
    return AlreadyExists(fmt::format(
        "synchronize worker \"{}\": another process has taken this name since; give each worker a --name of "
        "its own and start this one anew",
        request.worker().name()));
  Worker& worker = workers_[request.worker().name()];
  const bool is_new_instance = worker.facts.instance() != instance;
  if (is_new_instance) NoteFormer(worker.facts);
  worker.last_heard = now;
  if (!is_new_instance && request.sequence() < worker.sequence) return Heard{};  // Overtaken by a later one.
  worker.sequence = request.sequence();
  worker.facts = request.worker();
  worker.is_draining = request.is_draining();
  worker.known_workloads.assign(request.known_workloads().begin(), request.known_workloads().end());
  worker.has_surplus = false;

  Heard heard;
  std::set<int64_t> declared;
  for (const v1::BuildState& state : request.tasks()) {
    const auto it = worker.tasks.find(state.trial_id());
    if (it == worker.tasks.end() || it->second.task.attempt() != state.attempt()) {
      worker.has_surplus = true;
      continue;
    }
    declared.insert(state.trial_id());
    Task& task = it->second;
    task.is_declared = true;
    task.lost = 0;
    task.told_in = 0;
    if (state.has_artifact() || state.has_failure()) {
      task.is_building = false;
      heard.finished.push_back(state);
    } else if (state.is_building() && !std::exchange(task.is_building, true)) {
      heard.started.emplace_back(state.trial_id(), state.attempt());
    }
  }
  for (auto& [trial, task] : worker.tasks) {
    if (declared.contains(trial)) continue;
    task.is_declared = task.is_building = false;
    // A higher one than any was given by a server of another life.
    const uint64_t accepted = request.accepted_revision() <= revision_ ? request.accepted_revision() : 0;
    const bool was_told = task.told_in != 0 && accepted >= task.told_in;
    if (was_told && ++task.lost >= kMaxLostDeliveries) heard.undeliverable.push_back(task.task);
    if (was_told) task.told_in = 0;
  }
  return heard;
}

// Once the other one is forgotten the name is free again, also for those that had it before.
bool WorkerTable::HasBeenReplaced(const std::string& worker, uint64_t instance) const {
  const auto former = former_.find(worker);
  const Worker* now = Find(worker);
  return now != nullptr && now->facts.instance() != instance && former != former_.end() &&
         std::ranges::find(former->second, instance) != former->second.end();
}

void WorkerTable::NoteFormer(const v1::WorkerFacts& facts) {
  if (facts.name().empty()) return;
  std::deque<uint64_t>& former = former_[facts.name()];
  std::erase(former, facts.instance());
  former.push_back(facts.instance());
  if (former.size() > kFormerKept) former.pop_front();
  if (former_.size() > kFormerNamesKept)
    former_.erase(former_.begin()->first == facts.name() ? std::next(former_.begin()) : former_.begin());
}

void WorkerTable::Assign(const std::string& worker, v1::BuildTask task) {
  const int64_t trial = task.trial_id();
  workers_[worker].tasks[trial] = Task{std::move(task)};
}

void WorkerTable::Done(const std::string& worker, int64_t trial_id, int32_t attempt) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  const auto task = it->second.tasks.find(trial_id);
  if (task == it->second.tasks.end() || task->second.task.attempt() != attempt) return;
  it->second.has_surplus |= task->second.is_declared;
  it->second.tasks.erase(task);
}

std::vector<std::string> WorkerTable::Withdraw(const std::vector<int64_t>& trial_ids) {
  std::vector<std::string> told;
  for (auto& [name, worker] : workers_) {
    size_t withdrawn = 0;
    for (const int64_t trial : trial_ids) withdrawn += worker.tasks.erase(trial);
    if (withdrawn == 0) continue;
    worker.has_surplus = true;
    told.push_back(name);
  }
  return told;
}

const WorkerTable::Worker* WorkerTable::Find(const std::string& worker) const {
  const auto it = workers_.find(worker);
  return it == workers_.end() ? nullptr : &it->second;
}

int WorkerTable::Capacity(const std::string& name) const {
  const Worker* worker = Find(name);
  if (worker == nullptr || worker->is_draining || worker->facts.slots() <= 0) return 0;
  return std::max(0, worker->facts.slots() + kTasksAhead - static_cast<int>(worker->tasks.size()));
}

uint32_t WorkerTable::CodegenVersion(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker == nullptr ? 0 : worker->facts.codegen_version();
}

bool WorkerTable::HasNews(const std::string& name) const {
  const Worker* worker = Find(name);
  if (worker == nullptr) return true;
  return worker->has_surplus || std::any_of(worker->tasks.begin(), worker->tasks.end(),
                                            [](const auto& entry) { return !entry.second.is_declared; });
}

v1::SynchronizeResponse WorkerTable::Answer(const std::string& name, std::vector<std::string>& needed_workloads) {
  v1::SynchronizeResponse response;
  Worker& worker = workers_[name];
  ++revision_;
  std::set<std::string> held(worker.known_workloads.begin(), worker.known_workloads.end());
  for (auto& [trial, task] : worker.tasks) {
    if (!task.is_declared) task.told_in = revision_;
    *response.add_desired() = task.task;
    if (held.insert(task.task.workload()).second) needed_workloads.push_back(task.task.workload());
  }
  response.set_sequence(worker.sequence);
  response.set_revision(revision_);
  response.set_next_sync_ns(kNextSync.count());
  return response;
}

std::vector<std::string> WorkerTable::PassTime(TimePoint now) {
  std::vector<std::string> lost;
  std::erase_if(workers_, [&](const auto& entry) {
    if (now - entry.second.last_heard < kWorkerForgottenAfter) return false;
    lost.push_back(entry.first);
    NoteFormer(entry.second.facts);
    return true;
  });
  return lost;
}

std::optional<TimePoint> WorkerTable::NextDeadline() const {
  std::optional<TimePoint> first;
  for (const auto& [name, worker] : workers_) {
    const TimePoint at = worker.last_heard + kWorkerForgottenAfter;
    if (!first || at < *first) first = at;
  }
  return first;
}

int WorkerTable::TotalSlots() const {
  int slots = 0;
  for (const auto& [name, worker] : workers_) slots += worker.is_draining ? 0 : worker.facts.slots();
  return slots;
}

int WorkerTable::TotalTasks() const {
  size_t tasks = 0;
  for (const auto& [name, worker] : workers_) tasks += worker.tasks.size();
  return static_cast<int>(tasks);
}

int WorkerTable::Building() const {
  int building = 0;
  for (const auto& [name, worker] : workers_) {
    for (const auto& [trial, task] : worker.tasks) building += task.is_building ? 1 : 0;
  }
  return building;
}

std::vector<std::string> WorkerTable::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, worker] : workers_) names.push_back(name);
  return names;
}

std::vector<WorkerStanding> WorkerTable::Standings(TimePoint now) const {
  std::vector<WorkerStanding> standings;
  for (const auto& [name, worker] : workers_) {
    WorkerStanding& standing = standings.emplace_back(
        WorkerStanding{name, worker.facts.slots(), static_cast<int>(worker.tasks.size()), 0,
                       worker.facts.codegen_version(), worker.is_draining, now - worker.last_heard});
    for (const auto& [trial, task] : worker.tasks) standing.building += task.is_building ? 1 : 0;
  }
  return standings;
}

}  // namespace lathe
