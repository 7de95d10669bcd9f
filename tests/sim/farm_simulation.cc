#include "tests/sim/farm_simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "tests/sim/board.h"
#include "tests/sim/server.h"
#include "tests/sim/sim_worker.h"
#include "tests/sim/workload.h"
#include "tests/sim/world.h"
#include "tuner/job/job_spec.h"
#include "tuner/measure/measure_spec.h"

namespace lathe::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Duration kPatience = minutes(60);  // After the last fault, until all jobs have ended.
constexpr Duration kQuiet = seconds(100);    // After that, in which everything comes to rest.
constexpr int64_t kMostWakeUpsPerSecond = 500;
constexpr int64_t kMostIdleWakeUps = 400;  // Of the core by itself in that time.

class Farm {
 public:
  Farm(const Plan& plan, bool keeps_history) : plan_(plan), world_(Random::Mix(plan.seed + 1)), server_(world_, plan) {
    world_.keeps_history = keeps_history;
    for (int i = 0; i < plan.boards; ++i) boards_.push_back(std::make_unique<Board>(world_, plan, server_, i));
    for (int i = 0; i < plan.workers; ++i)
      workers_.push_back(std::make_unique<SimWorker>(world_, server_, fmt::format("worker-{}", i)));
    twin_ = std::make_unique<SimWorker>(world_, server_, "worker-0");
  }

  Outcome Run() {
    server_.Start();
    for (const auto& board : boards_) board->Start();
    for (const auto& worker : workers_) worker->Start();
    const uint64_t jobs = 1 + world_.random.Below(2);
    for (uint64_t job = 0; job < jobs; ++job) Submit(static_cast<int>(job), world_.Within(0, 3000));
    for (const Fault& fault : plan_.faults) {
      world_.At(fault.at, [this, &fault] {
        world_.Say("-- {}", fault.ToString());
        Happen(fault);
      });
    }
    Until(World::kStart + kFaultTime + kPatience, [this] { return HasEnded(); });
    if (!world_.broken && !HasEnded()) world_.Broken("{}", WhyNotOver());
    const TimePoint ended = world_.now;
    const int64_t woken = server_.steps_by_time;
    Until(ended + kQuiet, [] { return false; });
    if (!world_.broken) CheckRest(server_.steps_by_time - woken);
    if (!world_.broken) CheckRows();
    if (!world_.broken) CheckHealth();
    return {world_.broken, world_.history, server_.rows().Stats()->records,
            std::chrono::duration<double>(ended - World::kStart).count()};
  }

 private:
  struct Job {
    std::string request_id;
    int64_t id = 0;
    int64_t budget = 0;
    bool is_submitted = false, is_cancelled = false;
  };

  void Until(TimePoint end, const std::function<bool()>& is_over) {
    for (int step = 0; world_.now < end && !world_.broken; ++step) {
      CheckWakeUps();
      if (step % 16 == 0 && is_over()) return;
      if (!world_.RunNext()) return;
    }
  }

  void Submit(int number, Duration delay) {
    Job& job = jobs_[number];
    job.request_id = fmt::format("job-{}", number);
    if (job.budget == 0) job.budget = 6 + static_cast<int64_t>(world_.random.Below(8));
    world_.At(delay, [this, number] {
      Job& job = jobs_[number];
      const std::string text = fmt::format("workload {}", number);
      const Workload workload{Sha256(text), fmt::format("func{}", number), text};
      NewJob request{job.request_id, "job", JobSpec{}.ToJson(), {}};
      request.tasks.push_back({KeyFor(workload.digest, "llvm -mcpu=x86-64", "local"), workload.name, 1, job.budget});
      job.is_submitted = server_.Submit(request, workload, job.id);
      if (!job.is_submitted) return Submit(number, seconds(1));  // The same request id: the same job.
      if (world_.Chance(10)) server_.unpreparable.insert(server_.rows().ListTasks(job.id)->front().id);
    });
  }

  // ---- Faults.

  void Happen(const Fault& fault) {
    Board& board = *boards_[static_cast<size_t>(fault.which) % boards_.size()];
    SimWorker& worker = *workers_[static_cast<size_t>(fault.which) % workers_.size()];
    switch (fault.kind) {
      case FaultKind::kKillServer:
        return server_.KillAtVerb(fault.detail / 2, fault.detail % 2 == 1, fault.lasts);
      case FaultKind::kPowerCut:
        return server_.CutPower(fault.lasts);
      case FaultKind::kPauseServer:
        return server_.Pause(fault.lasts);
      case FaultKind::kDiskFull:
        server_.FillDisk(true);
        return world_.At(fault.lasts, [this] { server_.FillDisk(false); });
      case FaultKind::kWallClock:
        world_.wall_step += seconds(fault.detail);
        return;
      case FaultKind::kKillBoard:
        return board.Crash(fault.lasts);
      case FaultKind::kDeafBoard:
        return board.BeDeaf(3 * fault.lasts);
      case FaultKind::kStuckBoard:
        return board.BeStuck(3 * fault.lasts);
      case FaultKind::kCutLink:
        if (board.link() != nullptr) server_.Cut(board.link());
        return;
      case FaultKind::kBadWire:
        return board.GarbleUntil(world_.now + 3 * fault.lasts);
      case FaultKind::kSilentLink:
        if (board.link() != nullptr) server_.Silence(board.link());
        return;
      case FaultKind::kKillWorker:
        return worker.Crash(fault.lasts);
      case FaultKind::kMuteWorker:
        return worker.BeMute(fault.lasts);
      case FaultKind::kStuckWorker:
        return worker.LoseBuilds();
      case FaultKind::kTwinWorker:
        twin_->End();
        twin_->Start();
        twin_->on_answer = [this] {
          if (!std::exchange(is_twin_served_, true)) workers_[0]->Superseded();
        };
        is_twin_served_ = false;
        return world_.At(fault.lasts, [this] {
          twin_->End();
          workers_[0]->NoLongerSuperseded();
        });
      case FaultKind::kLoseArtifact:
        return server_.LoseArtifact(static_cast<size_t>(fault.detail));
      case FaultKind::kCancelJob:
        for (auto& [number, job] : jobs_) {
          if (job.is_submitted && job.id % 2 == fault.detail % 2) job.is_cancelled |= server_.Cancel(job.id);
        }
        return;
    }
  }

  // ---- Promises.

  using Measured = std::tuple<int64_t, int64_t, std::string, int64_t>;  // Trial, attempt, device, epoch.
  using Records = std::map<Measured, TuningRecord>;

  bool HasEnded() {
    if (world_.now < World::kStart + (plan_.faults.empty() ? Duration(0) : kFaultTime)) return false;
    for (const auto& [number, job] : jobs_) {
      if (!job.is_submitted) return false;
      const auto row = server_.rows().GetJob(job.id);
      if (!row.ok() || !IsTerminal(row->state)) return false;
    }
    return true;
  }

  std::string WhyNotOver() {
    std::string words = "not all jobs have ended an hour after the last fault:";
    for (const auto& [number, job] : jobs_) {
      if (!job.is_submitted) words += fmt::format(" {} is not submitted;", job.request_id);
      for (const TrialRow& trial : *server_.rows().ListTrials({.job_id = job.id}, {0, 1000})) {
        if (!IsTerminal(trial.state))
          words += fmt::format(" trial {} is {}, attempt {};", trial.id, TrialStateName(trial.state), trial.attempt);
      }
    }
    return words;
  }

  // The core sleeps until something is due: it never runs in a circle.
  void CheckWakeUps() {
    if (world_.now - second_began_ >= seconds(1)) {
      second_began_ = world_.now;
      woken_before_ = server_.steps_by_time;
    }
    if (server_.steps_by_time - woken_before_ > kMostWakeUpsPerSecond)
      world_.Broken("the core woke up {} times by itself within a second", server_.steps_by_time - woken_before_);
  }

  // Everything came to rest.
  void CheckRest(int64_t wake_ups) {
    for (const LeaseRow& lease : *server_.rows().ListGrantedLeases())
      if (!IsHealthCheck(lease.holder))  // A probe may fall into that moment.
        world_.Broken("lease {} of device {} is held, and there is no job", lease.epoch, lease.device_id);
    for (const auto& board : boards_)
      if (!board->is_idle()) world_.Broken("{} is not idle, and there is no job", board->name());
    for (const auto& worker : workers_)
      if (!worker->is_idle()) world_.Broken("{} has builds, and there is no job", worker->name());
    if (wake_ups > kMostIdleWakeUps)
      world_.Broken("the core woke up {} times in {} s without work", wake_ups, kQuiet / seconds(1));
  }

  std::string SlowBoard() const { return fmt::format("board-{}", plan_.slow_board); }

  // What others do to a board, so that it cannot be judged as it is.
  bool BoardsHaveTrouble() const {
    return std::ranges::any_of(plan_.faults, [](const Fault& fault) {
      return fault.kind >= FaultKind::kKillBoard && fault.kind <= FaultKind::kSilentLink;
    });
  }

  // The board that is slow is out of service, and no other, whatever candidates did to them.
  void CheckHealth() {
    for (const DeviceRow& device : *server_.rows().ListDevices()) {
      const bool is_slow = device.name == SlowBoard();
      const bool is_out = device.service.service == DeviceService::kQuarantined;
      if (is_slow && !is_out && !BoardsHaveTrouble()) world_.Broken("{} is slow, and in service", device.name);
      if (!is_slow && is_out && !BoardsHaveTrouble())
        world_.Broken("{} is well, and out of service: {}", device.name, device.service.reason);
    }
  }

  bool LosesPower() const {
    return std::ranges::any_of(plan_.faults, [](const Fault& fault) { return fault.kind == FaultKind::kPowerCut; });
  }

  void CheckRows() {
    Records records;
    for (const TuningRecord& record : *server_.rows().ListRecords({0, 100'000})) {
      const Measured run{record.trial_id.value_or(0), record.attempt, record.device, record.epoch};
      if (!records.emplace(run, record).second)
        world_.Broken("trial {} attempt {} is recorded twice", std::get<0>(run), record.attempt);
    }
    CheckResults(records);
    for (const auto& [number, job] : jobs_) CheckJob(job, records);
  }

  // What was acknowledged is there, and what a board wrote down arrived.
  void CheckResults(const Records& records) {
    for (const auto& board : boards_) {
      for (const auto& [key, result] : board->written) {
        if (!ToRunResult(result, 1) || result.trial_id() < 0) continue;  // Nothing that could be kept.
        const auto verdict = server_.acknowledged.find(key);
        const bool is_taken = verdict != server_.acknowledged.end() && verdict->second != v1::ACK_VERDICT_STALE;
        const Measured run{result.trial_id(), result.attempt(), board->name(), result.epoch()};
        if (is_taken && !records.contains(run))
          world_.Broken("the result of trial {} attempt {} was acknowledged and is lost", result.trial_id(),
                        result.attempt());
        // Without power cuts every attempt that a board knows is known to the store.
        if (!LosesPower() && !records.contains(run))
          world_.Broken("{} wrote down the result of trial {} attempt {}, and it never arrived", board->name(),
                        result.trial_id(), result.attempt());
      }
    }
  }

  void CheckJob(const Job& job, const Records& records) {
    const JobRow row = *server_.rows().GetJob(job.id);
    const std::vector<TrialRow> trials = *server_.rows().ListTrials({.job_id = job.id}, {0, 10'000});
    std::map<int64_t, int> counted;
    for (const auto& [run, record] : records) {
      if (record.late || !record.trial_id) continue;
      if (++counted[*record.trial_id] > (record.status == TrialState::kNoisy ? 2 : 1) + NoisyBefore(records, record))
        world_.Broken("trial {} was counted twice", *record.trial_id);
      const Fate fate = FateOf(record.trace_json);
      if (HasTimings(record.status) && fate != Fate::kTimed && fate != Fate::kNoisy && fate != Fate::kFailsOnce)
        world_.Broken("trial {} has a time, and its kernel has none", *record.trial_id);
    }
    int64_t done = 0;
    for (const TrialRow& trial : trials) {
      CheckTrial(trial);
      done += trial.final_round == 0 && SpendsBudget(trial.state) ? 1 : 0;
    }
    // What the slow board measured is not believed, and measured again.
    const auto distrusted = std::ranges::count_if(
        records, [&](const auto& entry) { return entry.second.late && entry.second.device == SlowBoard(); });
    if (done > job.budget + distrusted) world_.Broken("job {} spent {} trials of {}", job.id, done, job.budget);
    const bool is_tuned = row.state == JobState::kDone || row.state == JobState::kCancelled;
    const bool may_fail = !server_.unpreparable.empty();
    if (!is_tuned && !may_fail) world_.Broken("job {} is {}: {}", job.id, JobStateName(row.state), row.detail);
    if (row.state == JobState::kDone && done < job.budget && !may_fail)
      world_.Broken("job {} is done after {} trials of {}", job.id, done, job.budget);
    if (job.is_cancelled && row.state == JobState::kDone && row.detail == "enough")
      world_.Broken("job {} was cancelled and is done", job.id);
  }

  // A noisy measurement is repeated: its trial then has two records.
  static int NoisyBefore(const Records& records, const TuningRecord& record) {
    return static_cast<int>(std::ranges::count_if(records, [&](const auto& entry) {
      const TuningRecord& other = entry.second;
      return other.trial_id == record.trial_id && !other.late && other.status == TrialState::kNoisy &&
             other.id != record.id && record.status != TrialState::kNoisy;
    }));
  }

  void CheckTrial(const TrialRow& trial) {
    if (!IsTerminal(trial.state))
      world_.Broken("trial {} is {} in a job that has ended", trial.id, TrialStateName(trial.state));
    const Fate fate = FateOf(trial.trace_json);
    int killed = 0;
    size_t kills = 0;
    for (const auto& board : boards_) {
      killed += board->killed_by.contains(trial.id) ? 1 : 0;
      const auto by = board->kills.find(trial.id);
      kills += by == board->kills.end() ? 0 : static_cast<size_t>(by->second);
    }
    // Four attempts, and some for each time that somebody may have forgotten the last one, or never heard of it.
    if (kills > 4 + 2 * plan_.faults.size()) world_.Broken("trial {} took boards down {} times", trial.id, kills);
    // With the power goes what was known of what ran.
    if (killed >= 2 && !LosesPower() && trial.state != TrialState::kPoison && trial.state != TrialState::kCancelled)
      world_.Broken("trial {} took two boards down and is {}", trial.id, TrialStateName(trial.state));
    if (trial.state == TrialState::kCancelled || fate == Fate::kKillsBoard) return;
    const int64_t excuses = ExcusesFor(trial);
    if (trial.infra_failures > excuses)
      world_.Broken("trial {} counts {} failures of the farm, and there were at most {}: {}", trial.id,
                    trial.infra_failures, excuses, trial.error);
    const bool is_good = fate == Fate::kTimed || fate == Fate::kNoisy || fate == Fate::kFailsOnce;
    if (is_good && !HasTimings(trial.state) && excuses == 0)
      world_.Broken("trial {} is {}, and nothing was wrong with it or with any board: {}", trial.id,
                    TrialStateName(trial.state), trial.error);
  }

  // How often the farm may have failed this trial, for others than the server: whose trouble blames nobody.
  int64_t ExcusesFor(const TrialRow& trial) const {
    // A board drops what a server has forgotten with its power, having said that it runs; the next server misses it. It
    // cannot tell that from a board whose process died of it (docs/decisions/0056).
    int64_t excuses = LosesPower() ? 1 : 0;
    for (const Fault& fault : plan_.faults) {
      // A lost artifact is missed by the board that fetches it, and once more when the trial is given out again.
      const bool is_long = fault.kind == FaultKind::kLoseArtifact || fault.kind == FaultKind::kDeafBoard ||
                           fault.kind == FaultKind::kStuckBoard || fault.kind == FaultKind::kMuteWorker ||
                           fault.kind == FaultKind::kBadWire;
      if (fault.kind > FaultKind::kWallClock && fault.kind != FaultKind::kCancelJob) excuses += is_long ? 2 : 1;
    }
    for (const auto& board : boards_) {
      excuses += board->crashes;  // Those by other trials' modules; the plan's are counted twice.
      const auto failures = board->failures.find(trial.id);
      excuses += failures == board->failures.end() || failures->second == 0 ? 0 : 1;
    }
    return excuses;
  }

  const Plan& plan_;
  World world_;
  Server server_;
  std::vector<std::unique_ptr<Board>> boards_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  std::unique_ptr<SimWorker> twin_;
  bool is_twin_served_ = false;
  std::map<int, Job> jobs_;
  TimePoint second_began_{};
  int64_t woken_before_ = 0;
};

}  // namespace

Outcome Simulate(const Plan& plan, bool keeps_history) { return Farm(plan, keeps_history).Run(); }

Plan Minimized(const Plan& plan) {
  Plan least = plan;
  for (bool is_shorter = true; is_shorter;) {
    is_shorter = false;
    for (size_t i = 0; i < least.faults.size(); ++i) {
      Plan less = least;
      less.faults.erase(less.faults.begin() + static_cast<int64_t>(i));
      if (!Simulate(less).broken) continue;
      least = less;
      is_shorter = true;
      break;
    }
  }
  return least;
}

}  // namespace lathe::sim
