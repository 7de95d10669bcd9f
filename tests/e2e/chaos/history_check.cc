#include "tests/e2e/chaos/history_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lathe::chaos {
namespace {

class Check {
 public:
  Check(const History& history, const Books& books, const Bounds& bounds)
      : history_(history), books_(books), bounds_(bounds) {
    for (const BookedTrial& trial : books.trials) trials_.emplace(trial.id, &trial);
  }

  std::vector<std::string> Run() {
    Records();
    Budgets();
    for (const WatchedJob& job : history_.jobs) Watch(job);
    Spools();
    Boards();
    Processes();
    return std::move(broken_);
  }

 private:
  template <typename... Args>
  void Broken(fmt::format_string<Args...> format, Args&&... args) {
    broken_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void Records() {
    std::set<std::string> keys;
    std::map<int64_t, int> endings;  // Of a trial: records that can have ended it.
    for (const BookedRecord& record : books_.records) {
      if (!keys.insert(record.result_key).second) Broken("result {} is recorded twice", record.result_key);
      const bool is_first_of_two = record.status == TrialState::kNoisy;  // Measured once more; its record stays.
      if (!record.is_late && !is_first_of_two) ++endings[record.trial];
    }
    for (const BookedTrial& trial : books_.trials) {
      const std::string_view state = TrialStateName(trial.state);
      if (!IsTerminal(trial.state)) Broken("trial {} of job {} is {} at the end", trial.id, trial.job, state);
      const int expected = HasRecord(trial.state) && trial.state != TrialState::kNoisy ? 1 : 0;
      if (endings[trial.id] != expected)
        Broken("trial {}, {}, has {} records that ended it, {} required", trial.id, state, endings[trial.id], expected);
    }
  }

  void Budgets() {
    for (const BookedTask& task : books_.tasks) {
      int64_t spent = 0, without_record = 0;
      for (const BookedTrial& trial : books_.trials) {
        if (trial.task != task.id || trial.final_round != 0) continue;
        spent += SpendsBudget(trial.state) ? 1 : 0;
        without_record += SpendsBudget(trial.state) && !HasRecord(trial.state) ? 1 : 0;
      }
      if (IsEndedEarly(task.job) && spent <= task.budget) continue;
      if (spent != task.budget) Broken("task {} spent {} trials of {}", task.id, spent, task.budget);
      if (task.measured + without_record != task.budget)
        Broken("task {} has measured {} candidates and lost {}, of {}", task.id, task.measured, without_record,
               task.budget);
    }
  }

  // It need not spend its budget: its client or we ended it.
  bool IsEndedEarly(int64_t job_id) const {
    return std::any_of(history_.jobs.begin(), history_.jobs.end(), [&](const WatchedJob& job) {
      return job.id == job_id && (job.cancelled == "CANCELLED" || MayFail(job));
    });
  }
  bool MayFail(const WatchedJob& job) const {
    const auto kills = std::count_if(history_.search_kills.begin(), history_.search_kills.end(), [&](double at) {
      return at >= job.acknowledged_at && job.ended_at && at <= *job.ended_at;
    });
    return kills >= 2 && !job.sights.empty() && job.sights.back().state == "FAILED";
  }

  void Watch(const WatchedJob& job) {
    int64_t cursor = 0, done = 0, known = 0;
    std::map<int64_t, std::string> endings;
    for (const Sight& sight : job.sights) {
      if (sight.trials_done < done || sight.trials_known < known)
        Broken("job {} at {:.1f} s: counters fell from {} and {} to {} and {}", job.name, sight.at, done, known,
               sight.trials_done, sight.trials_known);
      done = sight.trials_done;
      known = sight.trials_known;
      for (const WatchedEvent& event : sight.events) {
        if (event.cursor <= cursor) Broken("job {}: event {} came after {}", job.name, event.cursor, cursor);
        cursor = event.cursor;
        if (event.kind != "trial") continue;
        if (!endings.emplace(event.subject, event.detail).second)
          Broken("job {}: trial {} ended twice", job.name, event.subject);
      }
    }
    for (const auto& [trial, state] : endings) Told(job, trial, state);
    Ending(job);
  }
  void Told(const WatchedJob& job, int64_t trial, const std::string& state) {
    const auto found = trials_.find(trial);
    if (found == trials_.end()) return Broken("job {}: trial {}, said to be {}, is lost", job.name, trial, state);
    const std::string_view booked = TrialStateName(found->second->state);
    if (booked != state) Broken("job {}: trial {} is {}, was said to be {}", job.name, trial, booked, state);
  }
  void Ending(const WatchedJob& job) {
    const std::string last = job.sights.empty() ? "never seen" : job.sights.back().state;
    const std::string required = job.cancelled.value_or("DONE");
    if (last != required && !MayFail(job))
      return Broken("job {} is {} at the end, {} required", job.name, last, required);
    const double limit = std::max(history_.faults_end, job.acknowledged_at) + bounds_.settle_s;
    if (!job.ended_at || *job.ended_at > limit)
      Broken("job {} ended {:.1f} s after the last fault, within {:.1f} s required", job.name,
             job.ended_at.value_or(limit) - history_.faults_end, bounds_.settle_s);
  }

  void Spools() {
    std::set<std::pair<int64_t, int64_t>> recorded;
    for (const BookedRecord& record : books_.records) recorded.emplace(record.trial, record.attempt);
    for (const SpooledResult& result : history_.spooled) {
      if (!result.is_measured || recorded.count({result.trial, result.attempt}) > 0) continue;
      Broken("attempt {} of trial {}, which device {} had written down, is lost", result.attempt, result.trial,
             result.device);
    }
  }

  void Boards() {
    for (const BoardSample& sample : history_.boards) {
      const auto ran = std::count_if(sample.ran_ns.begin(), sample.ran_ns.end(),
                                     [&](const auto& process) { return process.second > bounds_.overlap_ns; });
      if (ran > 1) Broken("at {:.2f} s {} trials ran on device {} at once", sample.at, ran, sample.device);
    }
    for (const BoardDeath& death : history_.deaths) {
      if (death.requeued_after && *death.requeued_after <= bounds_.requeue_s) continue;
      Broken("device {} died at {:.1f} s with {} trials, which were its own for {}, {:.0f} s allowed", death.device,
             death.at, death.trials,
             death.requeued_after ? fmt::format("{:.1f} s", *death.requeued_after) : "longer than it was away",
             bounds_.requeue_s);
    }
  }

  void Processes() {
    for (const UnexpectedEnd& end : history_.ends)
      if (!end.is_excused) Broken("at {:.1f} s {} ended: {}", end.at, end.who, end.how);
    for (const std::string& surprise : history_.surprises) Broken("{}", surprise);
    for (const std::string& process : history_.left_behind) Broken("left behind: {}", process);
    for (const ServerSample& sample : history_.server) {
      if (!sample.is_at_rest) continue;
      if (sample.descriptors > bounds_.descriptors)
        Broken("at rest the server holds {} descriptors, {} allowed", sample.descriptors, bounds_.descriptors);
      if (sample.resident_bytes > bounds_.resident_bytes)
        Broken("at rest the server holds {} MiB, {} allowed", sample.resident_bytes >> 20,
               bounds_.resident_bytes >> 20);
    }
  }

  const History& history_;
  const Books& books_;
  const Bounds& bounds_;
  std::map<int64_t, const BookedTrial*> trials_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> BrokenPromises(const History& history, const Books& books, const Bounds& bounds) {
  return Check(history, books, bounds).Run();
}

}  // namespace lathe::chaos
