// The coordinator's inside; private to its coordinator_*.cc files. Members are used on the loop's thread unless they
// say otherwise.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "runtime/kernel_abi.h"
#include "support/bounded_queue.h"
#include "tracker/tracker_core.h"
#include "tuner/job/best_check.h"
#include "tuner/job/coordinator.h"
#include "tuner/job/device_desk.h"
#include "tuner/job/event_loop.h"
#include "tuner/job/job_plan.h"
#include "tuner/job/pause_watch.h"
#include "tuner/job/shared_blobs.h"
#include "tuner/job/store_lease_store.h"
#include "tuner/job/task_finals.h"
#include "tuner/job/troubles.h"
#include "tuner/job/worker_table.h"
#include "tuner/worker/worker_core.h"

namespace lathe {

// A full disk, a database that somebody else locks: the same may go well later.
inline bool IsWorthRetrying(StatusCode code) {
  return code == StatusCode::kResourceExhausted || code == StatusCode::kUnavailable;
}

class Coordinator::Impl : public DeviceGatewayOwner {
 public:
  using Answer = std::function<void(StatusOr<v1::SynchronizeResponse>)>;

  Impl(CoordinatorOptions options, std::unique_ptr<Store> store, std::unique_ptr<SharedBlobs> blobs, QuietGate& gate);
  ~Impl() override;
  Status Start();

  // Any thread.
  template <typename Work>
  auto Ask(Work work) -> decltype(work()) {
    return loop_.Ask(std::move(work), Status(Unavailable("ask the coordinator: it is stopping; try again")));
  }
  StatusOr<JobRow> Submit(const JobRequest& request);
  bool WaitForJob(int64_t job_id, Duration limit);
  bool WaitForJob(int64_t job_id, const std::stop_token& stop);
  void SynchronizeLater(const v1::SynchronizeRequest& request, Answer answer);
  Status StoreArtifact(const Digest& digest, const std::string& content);
  DeviceGateway& gateway() { return *gateway_; }
  Store& store() { return *store_; }

  // On the loop.
  Status TakeUp(int64_t job_id);
  StatusOr<JobRow> Cancel(int64_t job_id, const std::string& reason);
  StatusOr<JobProgress> Progress(int64_t job_id);
  std::string TroubleNow() { return troubles_.Worst(Now()).value_or(Trouble{}).words; }
  Status Drain();

 private:
  static constexpr Duration kRetryAfter = std::chrono::seconds(1);  // What the store could not do.

  struct OpenTrial {
    size_t task = 0;
    TrialState state = TrialState::kProposed;
    int64_t attempt = 0;  // The latest that was given to a device.
    bool is_final = false;
    Digest trace_digest;
    std::optional<Digest> module;  // Pinned.
    TrialTimes times;
    int64_t idle_ns = -1, measure_ns = 0;  // Of its result.
  };
  struct FinalsView {
    enum class Phase { kNotAsked, kAsked, kUnderWay, kOver } phase = Phase::kNotAsked;
    bool is_adopting = false;  // Trials of an earlier process wait for `measurement`.
    int passes = 0;            // Times that finalists were asked for.
    TaskMeasurement measurement;
    TaskFinals state{{}};
    std::optional<BestCheck> check;  // Instead of finals: what an earlier job decided is measured once more.

    void Ended(const Digest& trace, TrialState outcome, const std::optional<Timings>& timings) {
      if (check) return check->Ended(outcome, timings);
      state.Ended(trace, outcome, timings);
    }
    bool is_asked() const { return phase != Phase::kNotAsked; }
    bool is_over() const { return phase == Phase::kOver; }
    bool is_under_way() const { return phase == Phase::kUnderWay; }
  };
  struct Job {
    Job(JobRow job, JobSpec job_spec, std::vector<TaskRow> rows, JobPlan job_plan, TimePoint now)
        : row(std::move(job)),
          spec(job_spec),
          tasks(std::move(rows)),
          prepared(tasks.size()),
          failures(tasks.size()),
          finals(tasks.size()),
          plan(std::move(job_plan)),
          taken_up(now),
          activity(now) {}
    JobRow row;
    JobSpec spec;
    std::vector<TaskRow> tasks;
    std::vector<std::optional<PreparedTask>> prepared;
    std::vector<std::string> failures;  // Why a task cannot be tuned.
    std::vector<FinalsView> finals;     // Per task.
    std::set<size_t> distrusted;        // Tasks of which only what the job itself measures counts.
    std::vector<std::string> remarks;   // Of a job that went well.
    JobPlan plan;
    std::unique_ptr<JobSearch> search;
    std::map<int64_t, OpenTrial> open;
    std::deque<int64_t> proposed;  // Not released to the workers yet; in order.
    int preparing = 0;             // Tasks with open trials that are not prepared yet.
    bool is_searching = false, has_its_leases = false;
    bool has_timed_out = false;         // The search has;
    bool are_finals_timed_out = false;  // and what is measured after it.
    TimePoint taken_up{};
    std::optional<TimePoint> retry_at;  // After the store failed.
    ActivityMeter activity;
    TrialLatencies latencies;
    int64_t measured = 0, failed = 0;
    std::optional<TimePoint> waits_since;
    std::string waits_for;
  };
  struct Poll {
    Answer answer;
    TimePoint deadline{};
  };
  struct DeviceView {
    std::string key;
    double peak_gflops = 0, peak_gops = 0;           // As it said; 0: it did not measure them.
    uint32_t kernel_abi = LATHE_KERNEL_ABI_VERSION;  // As it said; 0: from before devices said so.
    std::set<int64_t> measuring;                     // As the device said last.
    TimePoint heartbeat_stored{};
    std::map<int64_t, v1::MeasureSpec> specs;  // Of the trials it should have, by trial.
    std::vector<TrialAttempt> told;            // What it was told last,
    int64_t told_epoch = -1;                   // under which epoch.
    std::set<int64_t> failed;                  // Trials that it gave up for reasons of its own, since one went well.
  };
  // A result on its way into the store.
  struct Commit {
    v1::MeasureResult result;
    int64_t device_id = 0;
  };

  Status Resume(int64_t job_id);
  void RenewAfterPause(Duration pause);
  // An effect on the store of something that has happened already: it is tried until it succeeds, and what comes later
  // waits for it. Errors that no repetition mends are logged.
  void Perform(std::string what, std::function<Status()> effect);
  void RetryEffects();
  TimePoint Now() { return watch_.Own(clock_.Now()); }  // Without the times in which it was stopped.
  int64_t UnixNow() const { return clock_.UnixNanos(); }
  // True if OK. Else remembers it as trouble of its kind and says so now and then.
  bool Check(const Status& status, std::string_view what);
  std::optional<TimePoint> After();

  // coordinator_jobs.cc
  StatusOr<Job> LoadJob(const JobRow& row);
  Status AdoptOpenTrials(Job& job);
  void StartSearch(Job& job);
  void OnPrepared(int64_t job_id, size_t task, StatusOr<PreparedTask> prepared);
  void OnProposed(int64_t job_id, size_t task, StatusOr<std::vector<ProposedTrial>> proposed);
  void Advance(Job& job);
  void Release(Job& job);
  void BeginRound(Job& job);
  double FloorOf(const Job& job, size_t task) const;
  void RefuseImpossible(v1::MeasureResult& result);
  void CloseTask(Job& job, size_t task, const Status& why);
  void KeepTime(Job& job);
  bool AdvanceFinals(Job& job);
  bool AskForFinalists(Job& job);
  StatusOr<bool> BeginFinalRounds(Job& job);
  Status BeginFinalRound(Job& job, size_t task, const TaskFinals::Round& round);
  Status DecideFinals(Job& job, size_t task);
  Status AdvanceCheck(Job& job, size_t task);
  void SearchAnew(Job& job, size_t task, const std::string& why);
  void OnFinalists(int64_t job_id, size_t task, StatusOr<PreparedFinals> finals);
  bool TimeIsUp(Job& job, bool& flag, Duration after);
  void Finish(Job& job);
  std::string Explain(Job& job);
  void Forget(int64_t job_id);
  void SetTrialState(Job& job, int64_t trial_id, TrialState state);
  void EndTrial(Job& job, int64_t trial_id, TrialState outcome, const std::optional<Timings>& timings);
  void OpenTrialOf(Job& job, size_t task, const TrialRow& row);
  void RefreshTrial(int64_t trial_id);  // From the store.
  void RefreshGivenTrials();            // Those that somebody builds or measures, as far as is known here.
  int64_t CountBudget(Job& job, size_t task);
  int64_t CountOpen(const Job& job, std::initializer_list<TrialState> states) const;
  void NoteWaiting(Job& job);
  Job* JobOfTrial(int64_t trial_id);
  void UpdateDemand(Job& job);

  // coordinator_workers.cc
  void Hear(const v1::SynchronizeRequest& request, Answer answer);
  void AdoptBuilds(const std::string& worker);
  void SendBuild(const Job& job, size_t task, const std::string& worker, const TrialRow& trial);
  void TakeBuild(const std::string& worker, const v1::BuildState& state);
  uint32_t KernelAbiOf(const std::string& device_class) const;
  void AssignBuilds();
  bool AssignOne(const std::string& worker);
  void AnswerPolls();
  void TurnWorkersAway();
  void AnswerPoll(const std::string& worker);

  // coordinator_devices.cc
  void OnDeviceUp(const v1::Hello& hello) override;
  void GiveUpWhatItDiedOf(const std::string& device, const v1::Current& current, const std::set<std::string>& spooled);
  void OnDeviceHeard(const std::string& device, const v1::Current& current) override;
  void OnDeviceDown(const std::string& device, const std::string& reason) override;
  void OnResult(const v1::MeasureResult& result) override;
  StatusOr<BlobPiece> ReadBlob(const Digest& digest, int64_t offset, int64_t limit) override;
  void StepTracker(const TrackerEvent& event);
  void Do(const PersistDevice& action);
  void Do(const DeviceChange& action);
  void Do(const PersistGrant& action);
  void Do(const PersistRenewal& action);
  void Do(const PersistEnd& action);
  void Do(const AnswerGranted& action);
  void Do(const AnswerRenewed&) {}
  void Do(const AnswerEnded& action);
  void PlanDevices();
  void Do(const AskForDevice& action);
  void Do(const WithdrawAsking& action);
  void Do(const KeepLease& action);
  void Do(const GiveBack& action);
  void Do(const ClaimTrial& action);
  bool GiveTrial(const std::string& device, const TrialRow& trial);
  void TellDevices();
  void TakeResult(v1::MeasureResult result);
  void TakeProgress(const std::string& device, const v1::Current& current);
  void RunCommits();  // On a committing thread.
  v1::AckVerdict CommitOne(const Commit& commit);
  static AttemptFence FenceOf(const Commit& commit);
  void OnCommitted(const Commit& commit, const StatusOr<CommitAnswer>& answer);
  void NoteHealth(const v1::MeasureResult& result);
  void CountDevices();
  void TakeLeasesBack(Job& job);

  const CoordinatorOptions options_;
  Clock& clock_;
  PauseWatch watch_;
  std::unique_ptr<Store> store_;        // Any thread.
  std::unique_ptr<SharedBlobs> blobs_;  // Any thread.
  QuietGate& gate_;
  StoreLeaseStore leases_;
  std::unique_ptr<TrackerCore> tracker_;
  DeviceDesk desk_;
  WorkerTable workers_{static_cast<uint64_t>(UnixNow())};
  std::map<int64_t, Job> jobs_;
  std::map<int64_t, int64_t> job_of_trial_;
  std::map<int64_t, JobProgress> ended_;  // As they ended; the latest few.
  std::map<std::string, std::vector<Poll>> polls_;
  std::map<std::string, DeviceView> devices_;
  std::set<std::string> adopted_workers_;
  std::deque<TrackerEvent> tracker_events_;
  bool is_stepping_tracker_ = false, is_draining_ = false;
  Troubles troubles_;  // What Check heard.
  struct Effect {
    std::string what;
    std::function<Status()> run;
  };
  std::deque<Effect> effects_;  // Not in the store yet, in order.
  std::optional<TimePoint> retry_effects_at_;
  size_t next_job_ = 0;                     // To be served first by workers.
  std::vector<std::future<void>> endings_;  // Searches that are ending.

  std::mutex ended_mutex_;
  std::condition_variable_any ended_changed_;
  std::set<int64_t> running_;  // Guarded by ended_mutex_.

  BoundedQueue<Commit> commits_{1 << 20};
  std::vector<std::thread> committers_;
  std::atomic<bool> is_stopping_ = false;
  EventLoop loop_;
  std::unique_ptr<DeviceGateway> gateway_;  // Last: its thread calls this object.
};

}  // namespace lathe
