// The core's care for finalists: once the searches of a job are over, the best candidates of each task are
// measured again, all tasks and candidates in turns, before one becomes the best of its key.
#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/job/farm_core.h"

namespace lathe {
namespace {

constexpr int kMostPasses = 8;  // Each rules a candidate out; whoever has as many wrong ones has another problem.

}  // namespace

// True: there is nothing left to be measured or decided.
bool FarmCore::AdvanceFinals(Job& job) {
  while (job.open.empty()) {
    if (!job.are_finals_timed_out && AskForFinalists(job)) return false;
    const StatusOr<bool> has_begun = BeginFinalRounds(job);
    if (!Check(has_begun.status(), "measure finalists")) {
      job.retry_at = Now() + kRetryAfter;
      return false;
    }
    if (!job.plan.IsOver()) return false;  // A search begins anew.
    if (!*has_begun) return true;
  }
  return false;
}

// True: an answer is on its way.
bool FarmCore::AskForFinalists(Job& job) {
  bool is_asking = false;
  for (size_t task = 0; task < job.finals.size(); ++task) {
    FinalsView& finals = job.finals[task];
    is_asking |= finals.phase == FinalsView::Phase::kAsked;
    if (finals.is_asked()) continue;
    const bool is_wanted = job.failures[task].empty() && finals.passes < kMostPasses;
    finals.phase = is_wanted ? FinalsView::Phase::kAsked : FinalsView::Phase::kOver;
    if (!is_wanted) continue;
    ++finals.passes;
    is_asking = true;
    job.search->ChooseFinalists(task);
  }
  return is_asking;
}

void FarmCore::OnFinalists(int64_t job_id, size_t task, StatusOr<PreparedFinals> prepared) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  Job& job = it->second;
  FinalsView& finals = job.finals[task];
  if (IsFarmsOwn(job, prepared.status(), fmt::format("choose finalists of task \"{}\"", job.tasks[task].name))) {
    job.choose_again.insert(task);
    return;
  }
  if (std::exchange(finals.is_adopting, false)) job.preparing = std::max(0, job.preparing - 1);
  if (!prepared.ok())
    ports_.Log(fmt::format("finals of task \"{}\": {}", job.tasks[task].name, prepared.status().message()));
  const bool is_check = prepared.ok() && prepared->known.has_value();
  const bool has_any = is_check || (prepared.ok() && !prepared->finalists.empty());
  finals.phase = has_any ? FinalsView::Phase::kUnderWay : FinalsView::Phase::kOver;
  if (!has_any) return;
  finals.measurement = std::move(prepared->measurement);
  ports_.Pin(finals.measurement.reference.blob);
  if (is_check) finals.check.emplace(*std::move(prepared->known));
  finals.state = TaskFinals(std::move(prepared->finalists));
  for (const TuningRecord& record : prepared->rounds)
    finals.state.Ended(record.trace_digest, record.status, record.timings);
}

// Of all tasks, so that the same round of each comes before the next round of any. False: all are decided.
StatusOr<bool> FarmCore::BeginFinalRounds(Job& job) {
  bool has_begun = false;
  for (size_t task = 0; task < job.finals.size(); ++task) {
    FinalsView& finals = job.finals[task];
    if (!finals.is_under_way()) continue;
    if (finals.check) {
      RETURN_IF_ERROR(AdvanceCheck(job, task));
      has_begun |= finals.is_under_way();
      continue;
    }
    const std::optional<TaskFinals::Round> round = job.are_finals_timed_out ? std::nullopt : finals.state.NextRound();
    RETURN_IF_ERROR(round ? BeginFinalRound(job, task, *round) : DecideFinals(job, task));
    has_begun |= !finals.is_over();
  }
  return has_begun;
}

Status FarmCore::BeginFinalRound(Job& job, size_t task, const TaskFinals::Round& round) {
  ASSIGN_OR_RETURN(const std::vector<TrialRow> begun,
                   store_.BeginFinalRound(job.tasks[task].id, round.number, round.finalists));
  std::set<Digest> is_new;
  for (const TrialRow& trial : begun) {
    is_new.insert(trial.trace_digest);
    if (IsTerminal(trial.state))  // Its module is poison.
      job.finals[task].Ended(trial.trace_digest, trial.state, std::nullopt);
    else
      OpenTrialOf(job, task, trial);
  }
  // The round had it before, and it gave nothing that could be remembered.
  for (const NewFinalist& finalist : round.finalists) {
    if (!is_new.contains(finalist.trace_digest))
      job.finals[task].Ended(finalist.trace_digest, TrialState::kInfraFailed, std::nullopt);
  }
  return OkStatus();
}

// One measurement of a best that is known; if it does not hold, the task is searched.
Status FarmCore::AdvanceCheck(Job& job, size_t task) {
  FinalsView& finals = job.finals[task];
  if (!finals.check->has_begun && !job.are_finals_timed_out) {
    RETURN_IF_ERROR(BeginFinalRound(job, task, {kCheckRound, {finals.check->finalist()}}));
    finals.check->has_begun = true;
    return OkStatus();
  }
  const std::optional<std::string> why_gone = finals.check->why_gone();
  finals.check.reset();
  finals.phase = FinalsView::Phase::kOver;
  ports_.Unpin(finals.measurement.reference.blob);
  if (why_gone && !job.has_timed_out) SearchAnew(job, task, *why_gone);
  return OkStatus();
}

void FarmCore::SearchAnew(Job& job, size_t task, const std::string& why) {
  job.remarks.push_back(fmt::format("task \"{}\" was searched anew: {}", job.tasks[task].name, why));
  ports_.Log(job.remarks.back());
  job.distrusted.insert(task);
  job.search->Distrust(task);
  job.finals[task].phase = FinalsView::Phase::kNotAsked;
  const TaskStanding& known = job.plan.task(task);
  job.plan.task(task) = {.weight = known.weight, .budget = known.budget};
  looks_again_ = true;  // And begins a round.
}

Status FarmCore::DecideFinals(Job& job, size_t task) {
  FinalsView& finals = job.finals[task];
  ASSIGN_OR_RETURN(const bool has_winner, store_.DecideFinals(job.tasks[task].id));
  // Others take the place of finalists that all turned out to be wrong.
  const bool goes_on = !has_winner && finals.state.HasFailures() && !job.are_finals_timed_out;
  finals.phase = goes_on ? FinalsView::Phase::kNotAsked : FinalsView::Phase::kOver;
  ports_.Unpin(finals.measurement.reference.blob);
  ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store_.QueryBest(std::span(&job.tasks[task].key, 1)));
  if (best[0].lookup == Lookup::kHit) job.plan.task(task).best_ns = best[0].record->timings->median_ns;
  return OkStatus();
}

}  // namespace lathe
