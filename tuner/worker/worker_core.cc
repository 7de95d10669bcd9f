#include "tuner/worker/worker_core.h"

#include <algorithm>
#include <set>

namespace lathe {
namespace {

constexpr size_t kMaxTexts = 256;

}  // namespace

WorkerCore::WorkerCore(v1::WorkerFacts facts) : facts_(std::move(facts)) {}

v1::SynchronizeRequest WorkerCore::Declare(Duration wait) {
  v1::SynchronizeRequest request;
  *request.mutable_worker() = facts_;
  for (const auto& [key, task] : tasks_) {
    v1::BuildState& state = *request.add_tasks();
    if (task.finished) {
      state = *task.finished;
    } else {
      state.set_is_building(task.slot.has_value());
    }
    state.set_trial_id(key.trial_id);
    state.set_attempt(key.attempt);
  }
  for (const auto& [digest, text] : texts_) request.add_known_workloads(digest);
  request.set_is_draining(is_draining_);
  request.set_wait_ns(wait.count());
  request.set_sequence(++declared_);
  request.set_accepted_revision(revision_);
  return request;
}

std::vector<int> WorkerCore::Accept(const v1::SynchronizeResponse& response, TimePoint now) {
  if (response.sequence() < accepted_) return {};
  accepted_ = response.sequence();
  revision_ = response.revision();
  KeepTexts(response);
  std::set<TrialAttempt> desired;
  for (const v1::BuildTask& wanted : response.desired()) {
    const TrialAttempt key{wanted.trial_id(), wanted.attempt()};
    if (!texts_.contains(wanted.workload())) continue;  // Not declared, so it comes again with its text.
    desired.insert(key);
    const auto [it, is_new] = tasks_.try_emplace(key);
    if (!is_new) continue;
    it->second.task = wanted;
    it->second.order = next_order_++;
    it->second.arrived = now;
  }
  return KeepOnly(desired);
}

std::vector<int> WorkerCore::Replaced() { return KeepOnly({}); }

std::vector<int> WorkerCore::KeepOnly(const std::set<TrialAttempt>& desired) {
  std::vector<int> given_up;
  std::erase_if(tasks_, [&](const auto& entry) {
    if (desired.contains(entry.first)) return false;
    if (entry.second.slot) given_up.push_back(*entry.second.slot);
    return true;
  });
  return given_up;
}

void WorkerCore::KeepTexts(const v1::SynchronizeResponse& response) {
  for (const v1::WorkloadText& workload : response.workloads()) texts_[workload.digest()] = workload.text();
  if (texts_.size() <= kMaxTexts) return;
  std::set<std::string> needed;
  for (const auto& [key, task] : tasks_) needed.insert(task.task.workload());
  for (const v1::BuildTask& task : response.desired()) needed.insert(task.workload());
  std::erase_if(texts_, [&](const auto& entry) { return !needed.contains(entry.first); });
}

std::optional<WorkerCore::Start> WorkerCore::TakeTask(int slot, TimePoint now) {
  Task* oldest = nullptr;
  for (auto& [key, task] : tasks_) {
    if (task.slot || task.finished) continue;
    if (oldest == nullptr || task.order < oldest->order) oldest = &task;
  }
  if (oldest == nullptr) return std::nullopt;
  oldest->slot = slot;
  oldest->started = now;
  return Start{oldest->task, texts_.at(oldest->task.workload())};
}

bool WorkerCore::IsWanted(int slot) const {
  return std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& entry) { return entry.second.slot == slot; });
}

bool WorkerCore::Finish(int slot, v1::BuildState outcome, TimePoint now) {
  for (auto& [key, task] : tasks_) {
    if (task.slot != slot) continue;
    outcome.mutable_times()->set_waiting_ns((task.started - task.arrived).count());
    outcome.mutable_times()->set_total_ns((now - task.started).count());
    task.finished = std::move(outcome);
    task.slot = std::nullopt;
    return true;
  }
  return false;
}

}  // namespace lathe
