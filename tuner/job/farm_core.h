// What the farm decides, and nothing else: who builds and measures which trial, what counts, when something is given
// up, and who is told. step(event) -> store verbs and words to the ports, in order.
//
// No thread, socket or SQL of its own, and no clock but the one it is given: threads, connections, the searches and the
// commits of results are a shell's (coordinator.cc), or the simulator's (tests/sim). One thread; Step follows every
// other call.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/kernel_abi.h"
#include "support/clock.h"
#include "support/deadlines.h"
#include "tracker/tracker_core.h"
#include "tuner/database/store.h"
#include "tuner/job/best_check.h"
#include "tuner/job/build_merge.h"
#include "tuner/job/device_desk.h"
#include "tuner/job/device_health.h"
#include "tuner/job/farm_statistics.h"
#include "tuner/job/farm_view.h"
#include "tuner/job/golden_builds.h"
#include "tuner/job/job_plan.h"
#include "tuner/job/job_progress.h"
#include "tuner/job/job_searcher.h"
#include "tuner/job/job_spec.h"
#include "tuner/job/pause_watch.h"
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

// A result on its way into the store.
struct ResultCommit {
  v1::MeasureResult result;
  int64_t device_id = 0;
};
// The one store verb that a result is. Durable when it returns; from any thread.
StatusOr<CommitAnswer> CommitTo(Store& store, const ResultCommit& commit);

// A lease on its way into the store: whose, of which device of the store.
struct LeaseGrant {
  PersistGrant grant;
  int64_t device_id = 0;
};
// The one store verb that a grant is; its epoch. Durable when it returns; from any thread.
StatusOr<int64_t> GrantTo(Store& store, const LeaseGrant& grant);

// What the core wants done. Called in the middle of a step: does not call back, answers come as events later.
class FarmPorts {
 public:
  virtual ~FarmPorts() = default;
  // From now on, also after reconnections, until said again. InvalidArgument unless CheckDesired takes it.
  virtual Status SetDesired(const std::string& device, v1::Desired desired) = 0;
  virtual void Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict) = 0;
  // CommitTo, then FarmCore::OnCommitted.
  virtual void Commit(ResultCommit commit) = 0;
  // GrantTo, then FarmCore::OnGranted.
  virtual void Grant(LeaseGrant grant) = 0;

  virtual bool HasBlob(const Digest& digest, int64_t size_bytes) = 0;
  virtual StatusOr<int64_t> BlobSize(const Digest& digest) = 0;
  virtual StatusOr<Digest> PutBlob(const std::string& content) = 0;
  // A pinned blob is kept. Counts.
  virtual void Pin(const Digest& digest) = 0;
  virtual void Unpin(const Digest& digest) = 0;

  virtual std::unique_ptr<JobSearcher> BeginSearch(const JobRow& job, const JobSpec& spec,
                                                   const std::vector<TaskRow>& tasks) = 0;
  virtual void EndSearch(std::unique_ptr<JobSearcher> search) = 0;  // It may be in the middle of something.
  virtual void OnJobTakenUp(int64_t job_id) = 0;
  virtual void OnJobLeft(int64_t job_id) = 0;  // It has ended, or cannot be read.
  virtual void Log(const std::string& words) = 0;
};

struct FarmCoreOptions {
  std::function<std::unique_ptr<TaskScheduler>()> schedulers;
  bool resumes_jobs = true;  // At start, all that have not ended. Else only those that are submitted again.
  Duration build_time_limit = std::chrono::seconds(30);
  bool checks_devices = false;  // By the golden kernel (device_health.h); what is off is quarantined.
  size_t most_jobs = 16;        // At work at once: each is searched in a process. Others wait, oldest first.
};

class FarmCore {
 public:
  using Answer = std::function<void(StatusOr<v1::SynchronizeResponse>)>;

  // All of these must outlive it.
  FarmCore(FarmCoreOptions options, Store& store, FarmPorts& ports, Clock& clock);
  FarmCore(const FarmCore&) = delete;
  // Loads devices, leases and jobs. Once, before anything else.
  Status Start();
  // Whatever has come due, and whatever follows from what has just happened; then when to call it again if nothing
  // happens before, by the clock that it was given.
  std::optional<TimePoint> Step();

  // ---- Clients.
  // Goes on with a job of the store, when its turn comes. OK if it runs already or has ended.
  Status TakeUp(int64_t job_id);
  StatusOr<JobRow> Cancel(int64_t job_id, const std::string& reason);
  StatusOr<JobProgress> Progress(int64_t job_id);
  std::string TroubleNow() { return troubles_.Worst(Now()).value_or(Trouble{}).words; }
  // True if OK. Else remembers it as trouble of its kind and says so now and then.
  bool Check(const Status& status, std::string_view what);
  // ---- People.
  FarmView View();
  FarmStatistics Statistics();  // Without what the loop knows of itself.
  StatusOr<JobStory> Why(int64_t job_id);
  // `by`: whose doing it is. A device that is drained keeps what is at its hand; one that is quarantined loses it.
  Status SetDeviceService(const std::string& device, const ServiceState& service, const std::string& by);
  // Asked again (within kReservationPatience, while it waits) until it is granted.
  StatusOr<ReservationStanding> Reserve(const ReservationRequest& request);
  // Ends a reservation, and puts a device that is out of service back.
  Status Release(const std::string& device, const Petitioner& who);

  // Gives all leases back; nothing new begins.
  void Drain();
  // Ends its searches and turns workers away; nothing is to be called after it.
  void Stop();

  // ---- Searches.
  void OnPrepared(int64_t job_id, size_t task, StatusOr<PreparedTask> prepared);
  void OnProposed(int64_t job_id, size_t task, StatusOr<std::vector<ProposedTrial>> proposed);
  void OnFinalists(int64_t job_id, size_t task, StatusOr<PreparedFinals> finals);
  void OnSearching(int64_t job_id, bool is_busy);
  // The search answers nothing any more: the job fails, whatever is known of its tasks.
  void OnSearchBroken(int64_t job_id, const Status& why);

  // ---- Workers. `answer` is called once, at the latest when request.wait_ns is over, or by Drain or Stop.
  void Synchronize(const v1::SynchronizeRequest& request, Answer answer);

  // ---- Devices: what a DeviceGatewayOwner hears, and the answers to Commit and Grant.
  void OnDeviceUp(const v1::Hello& hello);
  void OnDeviceHeard(const std::string& device, const v1::Current& current);
  void OnDeviceDown(const std::string& device, const std::string& reason);
  void OnResult(v1::MeasureResult result);
  void OnCommitted(const ResultCommit& commit, const StatusOr<CommitAnswer>& answer);
  void OnGranted(const LeaseGrant& grant, const StatusOr<int64_t>& epoch);

  // For whoever checks what must hold.
  const TrackerCore& tracker() const { return *tracker_; }

 private:
  static constexpr Duration kRetryAfter = std::chrono::seconds(1);  // What the store could not do.

  struct OpenTrial {
    size_t task = 0;
    TrialState state = TrialState::kProposed;
    TimePoint since{};    // It is in that state.
    int64_t attempt = 0;  // The latest that was given to a device.
    bool is_final = false;
    bool is_measured_now = false;  // A device said so.
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
    Job(JobRow job, JobSpec job_spec, DeviceWish job_wish, std::vector<TaskRow> rows, JobPlan job_plan, TimePoint now)
        : row(std::move(job)),
          spec(std::move(job_spec)),
          wish(std::move(job_wish)),
          tasks(std::move(rows)),
          prepared(tasks.size()),
          failures(tasks.size()),
          finals(tasks.size()),
          plan(std::move(job_plan)),
          taken_up(now),
          activity(now) {}
    JobRow row;
    JobSpec spec;
    DeviceWish wish;
    std::vector<TaskRow> tasks;
    std::vector<std::optional<PreparedTask>> prepared;
    std::vector<std::string> failures;  // Why a task cannot be tuned.
    std::vector<FinalsView> finals;     // Per task.
    std::set<size_t> distrusted;        // Tasks of which only what the job itself measures counts.
    std::vector<std::string> remarks;   // Of a job that went well.
    std::optional<std::string> broken;  // Why it cannot be searched.
    JobPlan plan;
    std::unique_ptr<JobSearcher> search;
    std::map<int64_t, OpenTrial> open;
    std::array<int64_t, kTrialStateCount> in_state{};  // How many of them are in each state,
    int measured_now = 0;                              // and how many devices measure.
    std::deque<int64_t> proposed;                      // Not released to the workers yet; in order.
    int devices = 0;                                   // That could be lent to it.
    int preparing = 0;                                 // Tasks with open trials that are not prepared yet.
    std::set<size_t> prepare_again, choose_again;      // Tasks whose search is asked once more at retry_at.
    bool is_searching = false, has_its_leases = false;
    bool has_timed_out = false;         // The search has;
    bool are_finals_timed_out = false;  // and what is measured after it.
    TimePoint taken_up{};
    std::optional<TimePoint> retry_at;  // After the store failed.
    ActivityMeter activity;
    TrialLatencies latencies;
    int64_t measured = 0, failed = 0;
    std::optional<TimePoint> waits_since;
    bool is_wait_told = false;  // `waits_for` is why it waits.
    std::string waits_for;
  };
  // What the devices of a key say of themselves.
  struct ClassFacts {
    double peak_gflops = 0, peak_gops = 0;           // The highest; 0: none measured it.
    uint32_t kernel_abi = LATHE_KERNEL_ABI_VERSION;  // The newest that all of them run.
  };
  // One run of the golden kernel.
  struct GoldenRun {
    int64_t id = 0;  // In the place of a trial's; below 0.
    int64_t epoch = 0;
    bool is_canary = false;
  };
  struct Poll {
    Answer answer;
    TimePoint deadline{};
  };
  struct DeviceView {
    std::string key;
    std::string golden_target;                       // For its architecture; empty: no code is generated for it.
    double peak_gflops = 0, peak_gops = 0;           // As it said; 0: it did not measure them.
    uint32_t kernel_abi = LATHE_KERNEL_ABI_VERSION;  // As it said; 0: from before devices said so.
    std::set<int64_t> measuring;                     // As the device said last.
    TimePoint heartbeat_stored{};
    std::map<int64_t, v1::MeasureSpec> specs;   // Of the trials it should have, by trial.
    std::vector<TrialAttempt> told;             // What it was told last,
    int64_t told_epoch = -1;                    // under which epoch.
    std::set<int64_t> failed;                   // Trials that it gave up for reasons of its own, since one went well.
    uint64_t instance = 0;                      // Of its process; 0: not heard since this process began.
    bool has_greeted = false;                   // Since this process began:
    std::set<TrialAttempt> trials_at_greeting;  // what it had runners for,
    std::set<std::string> spooled_at_greeting;  // and the keys of results that it had.
    std::string declared;                       // Its trials, their phases and its progress, as it said last.
    TimePoint progressed{};                     // That changed, or it was given something while it had nothing.
  };
  Status Resume(int64_t job_id);
  Status Begin(const JobRow& row);
  void BeginWaitingJobs();
  void RenewAfterPause(Duration pause);
  // An effect on the store of something that has happened already: it is tried until it succeeds, and what comes later
  // waits for it. Errors that no repetition mends are logged.
  void Perform(std::string what, std::function<Status()> effect);
  void RetryEffects();
  TimePoint Now() { return watch_.Own(clock_.Now()); }  // Without the times in which it was stopped.
  std::optional<TimePoint> NextDeadline();

  // farm_core_jobs.cc
  StatusOr<Job> LoadJob(const JobRow& row);
  Status AdoptOpenTrials(Job& job);
  void Advance(Job& job);
  void Release(Job& job);
  bool NoteReleased(Job& job, int64_t trial, const StatusOr<bool>& released);
  void BeginRound(Job& job);
  double FloorOf(const Job& job, size_t task) const;
  void RefuseImpossible(v1::MeasureResult& result);
  bool IsFarmsOwn(Job& job, const Status& status, std::string_view what);
  bool HasTrialsOf(const Job& job, size_t task) const;
  void AskSearchAgain(Job& job);
  void CloseTask(Job& job, size_t task, const Status& why);
  void DropTrials(Job& job, const std::vector<int64_t>& trials);
  void CancelInStore(const std::vector<int64_t>& trials);
  void KeepTime(Job& job);
  bool AdvanceFinals(Job& job);
  bool AskForFinalists(Job& job);
  StatusOr<bool> BeginFinalRounds(Job& job);
  Status BeginFinalRound(Job& job, size_t task, const TaskFinals::Round& round);
  Status DecideFinals(Job& job, size_t task);
  Status AdvanceCheck(Job& job, size_t task);
  void SearchAnew(Job& job, size_t task, const std::string& why);
  bool TimeIsUp(Job& job, bool& flag, Duration after);
  void Finish(Job& job);
  std::string Explain(Job& job);
  void Forget(int64_t job_id);
  void SetTrialState(Job& job, int64_t trial_id, TrialState state);
  void EndTrial(Job& job, int64_t trial_id, TrialState outcome, const std::optional<Timings>& timings);
  void OpenTrialOf(Job& job, size_t task, const TrialRow& row);
  OpenTrial& AddOpen(Job& job, int64_t trial_id, size_t task, const Digest& trace, TrialState state);
  void NoteState(Job& job, int64_t trial_id, OpenTrial& open, TrialState state);
  void NoteMeasuredNow(int64_t trial_id, bool is_measured);
  void RefreshTrial(int64_t trial_id);  // From the store.
  void RefreshGivenTrials();            // Those that somebody builds or measures, as far as is known here.
  int64_t CountBudget(Job& job, size_t task);
  int64_t CountOpen(const Job& job, std::initializer_list<TrialState> states) const;
  std::string WhyNotBuilt(const Job& job) const;
  void NoteWaiting(Job& job);
  Job* JobOfTrial(int64_t trial_id);
  const OpenTrial* FindOpen(int64_t trial_id) const;
  void UpdateDemand(Job& job);

  // farm_core_workers.cc
  void AdoptBuilds(const std::string& worker);
  void SendBuild(const Job& job, size_t task, const std::string& worker, const TrialRow& trial);
  void TakeBuilds(const std::string& worker, const std::vector<v1::BuildState>& states);
  // What is to be written of a build; nullopt: it is no outcome, and has been dealt with.
  std::optional<BuildReport> ReportOf(const std::string& worker, const v1::BuildState& state);
  // What came of builds, into the store; nullopt: it could not be written, and is declared again.
  std::vector<std::optional<CommitAnswer>> CommitBuilds(const std::vector<BuildReport>& reports);
  void NoteBuilt(const BuildReport& report, const CommitAnswer& answer);
  void ShareBuild(const BuildReport& report);
  void LeaveBuild(int64_t trial_id);
  void SendLeftBuilds();
  void AssignBuilds();
  bool AssignSome(const std::string& worker, int64_t workers);
  void TakeForBuild(Job& job, const std::string& worker, const TrialRow& trial);
  void AnswerPolls();
  void TurnWorkersAway();
  void AnswerPoll(const std::string& worker);
  Duration BuildPatience() const;
  void GiveUpStalledBuilds();

  // farm_core_devices.cc
  bool GiveUpWhatItDiedOf(const std::string& device);
  void GiveUpTheFirstGiven(const std::string& device);
  bool HadWhenItGreeted(const std::string& device, int64_t trial);
  bool FailAtHand(const std::string& device, int64_t trial, InfraFailure failure, const std::string& words);
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
  void Do(const ClaimTrial& action) { claims_.push_back(action); }
  void Claim(const std::vector<ClaimTrial>& actions);
  void TakeClaimed(const ClaimTrial& action, const StatusOr<std::optional<TrialRow>>& claimed);
  void NoteBegun();
  bool GiveTrial(const std::string& device, const TrialRow& trial);
  void GiveUp(const AttemptFence& fence, InfraFailure failure, const std::string& words);
  void TellDevices();
  void TellDevice(const std::string& device, DeviceView& view);
  void TellToRest(const std::string& device, int64_t epoch);
  void TakeProgress(const std::string& device, const v1::Current& current);
  void RetryCommits();
  void SendAcknowledgements();
  void NoteHealth(const v1::MeasureResult& result);
  void NoteAnswer(const v1::MeasureResult& result, const StatusOr<CommitAnswer>& answer);
  void ObserveTimes(const TrialTimes& times, int64_t idle_ns, int64_t measure_ns);
  std::optional<TimePoint> DueOf(const std::string& device, const DeviceView& view) const;
  std::optional<int64_t> RunningOf(const DeviceDesk::Held& held) const;
  void GiveUpTheStalled();
  void GiveUpStalled(const std::string& device);
  void SetMeasuring(DeviceView& view, std::set<int64_t> trials);
  void CollectClassFacts(const std::string& key);
  void CountDevices();
  int CountDevices(const DeviceWish& wish) const;  // That could be lent to somebody with this wish.
  void TakeLeasesBack(Job& job);

  // farm_core_health.cc
  void RestoreHealth(const std::vector<DeviceRow>& devices);
  DeviceHealthTable::Actions GreetHealth(const v1::DeviceFacts& facts, bool is_new_process);
  void Apply(const DeviceHealthTable::Actions& actions);
  void Do(const SaveHealth& action);
  void Do(const CheckDevice& action);
  void Do(const PassDevice& action);
  void Do(const QuarantineDevice& action);
  void Do(const DistrustSince& action);
  const GoldenModule* GoldenOf(const DeviceView& view);
  bool HasGoldenReference();
  void GoldenLost(const std::string& device);
  int64_t NewGoldenId();
  bool AssignGolden(const std::string& worker);
  void TakeGoldenBuild(const std::string& worker, const v1::BuildState& state);
  static v1::MeasureSpec GoldenSpec(const GoldenRun& run, const GoldenModule& module);
  void TryToCheck(const std::string& device);
  void HoldBack(const std::string& device, bool is_held_back);
  void BeginCheck(const LeaseRecord& lease);
  void TellToCheck(const std::string& device);
  void GoldenLeaseEnded(const std::string& device, int64_t epoch);
  std::optional<v1::MeasureSpec> CanaryFor(const std::string& device, const DeviceDesk::Held& held);
  void TakeGolden(const v1::MeasureResult& result);
  void GoldenEnded(const std::string& device, GoldenResult result);
  void NoteStrike(const v1::MeasureResult& result);
  void SetServiceOfOurs(const std::string& device, const ServiceState& service);
  void CountAnew();
  void AdvanceHealth();
  std::optional<TimePoint> NextHealthDeadline(TimePoint now) const;
  std::string HealthWords(const std::string& device);

  // farm_core_people.cc
  DeviceWish ByName(const DeviceWish& wish) const;
  std::string StoryOf(const Job& job, const std::string& device) const;
  JobStory StoryOf(const Job& job);
  LeaseRequested RequestOf(const Job& job, const std::string& request_id) const;

  const FarmCoreOptions options_;
  Store& store_;
  FarmPorts& ports_;
  Clock& clock_;
  PauseWatch watch_;
  StoreLeaseStore leases_;
  std::unique_ptr<TrackerCore> tracker_;
  DeviceDesk desk_;
  DeviceHealthTable health_;
  GoldenBuilds goldens_;
  std::map<std::string, GoldenRun> golden_runs_;       // By device.
  Deadlines<std::string> golden_due_, check_again_;    // Of runs in a check; of devices that could not be claimed.
  std::map<std::string, TimePoint> distrusted_since_;  // Bad devices. What they measured may be on its way to the store
  std::set<std::string> distrust_again_;               // when that is decided: those of which something came after.
  std::set<std::string> unchecked_;                    // They wait for a golden kernel, and are used meanwhile.
  int64_t last_golden_id_ = 0;
  WorkerTable workers_;
  std::map<int64_t, Job> jobs_;
  std::deque<int64_t> waiting_;  // Jobs whose turn comes later.
  std::map<int64_t, int> waiting_priority_;
  std::optional<TimePoint> waiting_retry_at_;
  std::map<int64_t, int64_t> job_of_trial_;
  std::map<int64_t, JobProgress> ended_;  // As they ended; the latest few.
  std::map<std::string, std::vector<Poll>> polls_;
  std::map<std::string, DeviceView> devices_;
  std::map<std::string, ClassFacts> classes_;  // By key.
  std::set<std::string> touched_;              // Devices that may have to be told something, or be due at another time,
                                               // beside those whose trials the desk has changed.
  Deadlines<std::string> stalled_at_;          // Devices that are given up then.
  Deadlines<int64_t> build_due_;               // Trials whose builds are given up then.
  std::set<std::string> adopted_workers_;
  BuildMerge builds_;
  std::vector<BuildOf> left_builds_;  // They waited for one that told nothing.
  std::deque<TrackerEvent> tracker_events_;
  bool is_stepping_tracker_ = false, is_draining_ = false;
  bool looks_again_ = false;     // Something changed that this step had passed by.
  bool counts_devices_ = false;  // Devices came, went, or changed since they were counted.
  Troubles troubles_;            // What Check heard.
  FarmCounters counters_;
  struct Effect {
    std::string what;
    std::function<Status()> run;
  };
  std::deque<Effect> effects_;  // Not in the store yet, in order.
  std::optional<TimePoint> retry_effects_at_;
  struct Acknowledgement {
    std::string device;
    Digest key;
    v1::AckVerdict verdict;
  };
  std::vector<Acknowledgement> acknowledgements_;  // Sent after what follows from the result is desired.
  std::vector<ResultCommit> uncommitted_;          // The store could not.
  std::optional<TimePoint> retry_commits_at_;
  std::vector<ClaimTrial> claims_;   // Of one round of the desk's plan.
  std::vector<AttemptFence> begun_;  // Attempts that devices said they measure; not in the store yet.
  size_t next_job_ = 0;              // To be served first by workers.
};

}  // namespace lathe
