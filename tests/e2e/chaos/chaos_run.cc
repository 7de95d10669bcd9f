#include "tests/e2e/chaos/chaos_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>

#include <filesystem>
#include <set>

#include "proto/lathe/v1/device.pb.h"
#include "support/status_macros.h"
#include "tests/e2e/chaos/board_watch.h"
#include "tests/e2e/chaos/farm.h"
#include "tests/e2e/chaos/tuning_client.h"
#include "tests/e2e/process_tree.h"
#include "tuner/database/sqlite_store.h"

namespace lathe::chaos {
namespace {

namespace fs = std::filesystem;

constexpr int kTickMs = 20;
constexpr double kRest = 3;            // Between the end of the last job and the last look at the server.
constexpr double kDeathMustBegin = 5;  // A board that has no trials by then is left alive.

// Mounts are this process's own from here on; false where that may not be.
bool HaveOwnMounts() {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

Status EachRecord(Store& store, const std::function<void(const TuningRecord&)>& visit) {
  for (int64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> page, store.ListRecords({after, 1000}));
    for (const TuningRecord& record : page) visit(record);
    if (page.empty()) return OkStatus();
    after = page.back().id;
  }
}

StatusOr<Books> ReadBooks(const std::string& database, const std::vector<WatchedJob>& jobs) {
  ASSIGN_OR_RETURN(const auto store, SqliteStore::OpenReadOnly(database));
  Books books;
  RETURN_IF_ERROR(EachRecord(*store, [&](const TuningRecord& record) {
    if (record.trial_id)
      books.records.push_back(
          {record.result_key.ToHex(), *record.trial_id, record.attempt, record.status, record.late});
  }));
  for (const WatchedJob& job : jobs) {
    ASSIGN_OR_RETURN(const std::vector<TaskRow> tasks, store->ListTasks(job.id));
    for (const TaskRow& task : tasks) {
      ASSIGN_OR_RETURN(const int64_t measured, store->CountMeasured(task.key));
      books.tasks.push_back({task.id, job.id, job.budget, measured});
    }
  }
  RETURN_IF_ERROR(ForEachTrial(*store, {}, [&](const TrialRow& trial) {
    books.trials.push_back({trial.id, trial.task_id, trial.job_id, trial.final_round, trial.state});
  }));
  return books;
}

// What the device of this spool has written down and nobody has acknowledged.
std::vector<SpooledResult> SpooledAt(const std::string& folder, int device) {
  std::vector<SpooledResult> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".tmp") continue;
    const std::string text = TextOf(entry.path());
    v1::MeasureResult result;
    if (text.size() < 32 || !result.ParseFromArray(text.data(), static_cast<int>(text.size()) - 32)) continue;
    const bool is_measured =
        result.status() != v1::MEASURE_STATUS_CANCELLED && result.status() != v1::MEASURE_STATUS_INFRA_FAILED;
    found.push_back({device, result.trial_id(), result.attempt(), is_measured});
  }
  return found;
}

// The trials that a device has, as (trial, attempt); none where the database cannot be read now.
std::set<std::pair<int64_t, int64_t>> TrialsAt(const std::string& database, const std::string& device) {
  std::set<std::pair<int64_t, int64_t>> held;
  const auto store = SqliteStore::OpenReadOnly(database);
  if (!store.ok()) return held;
  const auto devices = (*store)->ListDevices();
  if (!devices.ok()) return held;
  for (const DeviceRow& row : *devices) {
    if (row.name != device) continue;
    const auto trials =
        (*store)->ListTrials({.device_id = row.id, .states = {TrialState::kAssigned, TrialState::kRunning}}, {0, 100});
    if (!trials.ok()) continue;
    for (const TrialRow& trial : *trials) held.emplace(trial.id, trial.attempt);
  }
  return held;
}

// Of all threads.
double ProcessorSeconds(pid_t pid) {
  const std::string stat = TextOf(fmt::format("/proc/{}/stat", pid));
  long long user = 0, system = 0;
  const size_t name_end = std::min(stat.rfind(')'), stat.size());
  std::sscanf(stat.c_str() + name_end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

ServerSample LookAtServer(double at, pid_t pid, bool is_at_rest) {
  std::error_code error;
  long long pages = 0, resident = 0;
  std::sscanf(TextOf(fmt::format("/proc/{}/statm", pid)).c_str(), "%lld %lld", &pages, &resident);
  const auto open = std::distance(fs::directory_iterator(fmt::format("/proc/{}/fd", pid), error), {});
  return {at, pid, open, resident * sysconf(_SC_PAGESIZE), is_at_rest, ProcessorSeconds(pid)};
}

// Kernel threads and strangers are neither; whoever runs from the farm's folder or has its mark is.
std::vector<std::string> LeftBehind(const Farm& farm) {
  std::vector<std::string> found;
  for (const pid_t pid : AllProcesses()) {
    const std::string command = TextOf(fmt::format("/proc/{}/cmdline", pid));
    bool is_farms = HasInEnvironment(pid, farm.Marker());
    for (const std::string& runner : farm.RunnerPaths()) is_farms = is_farms || command.starts_with(runner);
    if (is_farms) found.push_back(fmt::format("{} {}", pid, command.c_str()));
  }
  return found;
}

class Run {
 public:
  Run(const ChaosOptions& options, std::vector<Fault> plan, Farm& farm)
      : options_(options), plan_(std::move(plan)), farm_(farm), boards_(farm.RunnerPaths()) {}

  void Go(int clients);
  History TakeHistory() { return std::move(history_); }

 private:
  struct Underway {
    Fault fault;
    bool has_begun = false;
    std::optional<size_t> death;  // In history_.deaths.
    std::set<std::pair<int64_t, int64_t>> held;
  };
  double Seconds() const { return std::chrono::duration<double>(SystemClock().Now() - begin_).count(); }
  template <typename... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) const {
    fmt::print("{:7.2f} s  {}\n", Seconds(), fmt::format(format, std::forward<Args>(args)...));
    std::fflush(stdout);
  }

  void Until(const std::function<bool()>& is_over);
  void ActOnPlan();
  void TryToBegin(Underway& underway);
  void BeginDeath(Underway& underway);
  void FollowDeath(Underway& underway);
  void Look();
  void LookAtSpools();
  bool AreSpoolsEmpty() const;
  void TakeEnds();
  void Finish();

  const ChaosOptions& options_;
  const std::vector<Fault> plan_;
  Farm& farm_;
  const TimePoint begin_ = SystemClock().Now();
  BoardWatch boards_;
  std::vector<std::unique_ptr<TuningClient>> clients_;
  size_t next_ = 0;  // Of plan_.
  std::vector<Underway> underway_;
  std::set<SpooledResult> spooled_;
  int ticks_ = 0;
  bool is_at_rest_ = false;
  History history_;
};

void Run::Go(int clients) {
  for (int i = 0; i < clients; ++i)
    clients_.push_back(std::make_unique<TuningClient>(i, farm_.ClientAddress(i), farm_.ClientOptions(i),
                                                      [this] { return Seconds(); }));
  const double faults_for = std::chrono::duration<double>(options_.faults_for).count();
  Until([&] { return Seconds() >= faults_for && underway_.empty() && next_ == plan_.size(); });
  history_.faults_end = Seconds();
  Say("the faults are over");
  for (const auto& client : clients_) client->BeginNoMore();
  const double limit = history_.faults_end + options_.bounds.settle_s;
  const auto is_done = [](const auto& client) { return client->IsDone(); };
  Until([&] { return std::all_of(clients_.begin(), clients_.end(), is_done) || Seconds() > limit; });
  is_at_rest_ = std::all_of(clients_.begin(), clients_.end(), is_done);
  Say("{}", is_at_rest_ ? "all jobs have ended" : "jobs have not ended");
  for (const auto& client : clients_) client->GiveUp();
  Until([&] { return AreSpoolsEmpty() || Seconds() > limit; });  // Late results are data, too.
  Until([&, rest_until = Seconds() + kRest] { return Seconds() >= rest_until; });
  Finish();
}

void Run::Finish() {
  history_.server.push_back(LookAtServer(Seconds(), farm_.server_pid(), is_at_rest_));
  for (const std::string& odd : farm_.Stop()) history_.surprises.push_back(odd);
  for (const auto& client : clients_) {
    while (!client->IsDone()) poll(nullptr, 0, kTickMs);
    for (WatchedJob& job : client->TakeJobs()) history_.jobs.push_back(std::move(job));
    for (std::string& surprise : client->TakeSurprises()) history_.surprises.push_back(std::move(surprise));
  }
  history_.spooled.assign(spooled_.begin(), spooled_.end());
  history_.left_behind = LeftBehind(farm_);
}

void Run::Until(const std::function<bool()>& is_over) {
  constexpr int kSpoolTicks = 10, kServerTicks = 50;
  for (; !is_over(); poll(nullptr, 0, kTickMs), ++ticks_) {
    farm_.Tick(Seconds());
    ActOnPlan();
    TakeEnds();
    for (BoardSample& sample : boards_.Look(Seconds())) history_.boards.push_back(std::move(sample));
    if (ticks_ % kSpoolTicks == 0) LookAtSpools();
    if (ticks_ % kServerTicks == 0 && farm_.server_pid() > 0)
      history_.server.push_back(LookAtServer(Seconds(), farm_.server_pid(), false));
  }
}

void Run::LookAtSpools() {
  for (int device = 0; device < static_cast<int>(farm_.RunnerPaths().size()); ++device)
    for (const SpooledResult& result : SpooledAt(farm_.SpoolOf(device), device)) spooled_.insert(result);
}

bool Run::AreSpoolsEmpty() const {
  for (int device = 0; device < static_cast<int>(farm_.RunnerPaths().size()); ++device)
    if (!SpooledAt(farm_.SpoolOf(device), device).empty()) return false;
  return true;
}

void Run::TakeEnds() {
  for (UnexpectedEnd& end : farm_.TakeUnexpectedEnds()) {
    Say("{} ended: {}{}", end.who, end.how, end.is_excused ? " (it lacked room or descriptors)" : "");
    history_.ends.push_back(std::move(end));
  }
}

void Run::ActOnPlan() {
  const double now = Seconds();
  const auto seconds = [](Duration time) { return std::chrono::duration<double>(time).count(); };
  for (; next_ < plan_.size() && seconds(plan_[next_].at) <= now; ++next_) underway_.push_back({plan_[next_]});
  for (auto each = underway_.begin(); each != underway_.end();) {
    if (!each->has_begun) TryToBegin(*each);
    if (each->death) FollowDeath(*each);
    if (seconds(each->fault.at + each->fault.lasts) > now) {
      ++each;
      continue;
    }
    if (each->has_begun) farm_.End(each->fault);
    if (!each->has_begun) Say("left out: {}", each->fault.ToString());
    each = underway_.erase(each);
  }
}

void Run::TryToBegin(Underway& underway) {
  if (underway.fault.kind == FaultKind::kDeadBoard) return BeginDeath(underway);
  underway.has_begun = farm_.Begin(underway.fault);
  if (!underway.has_begun) return;
  Say("{}", underway.fault.ToString());
  if (underway.fault.kind == FaultKind::kKill && underway.fault.role == Role::kSearch)
    history_.search_kills.push_back(Seconds());
}

void Run::BeginDeath(Underway& underway) {
  constexpr int kLookTicks = 5;
  const Fault& fault = underway.fault;
  if (ticks_ % kLookTicks != 0 || Seconds() > std::chrono::duration<double>(fault.at).count() + kDeathMustBegin) return;
  if (TrialsAt(farm_.database(), fmt::format("device{}", fault.which)).empty()) return;
  underway.has_begun = farm_.Begin(fault);
  if (!underway.has_begun) return;
  underway.held = TrialsAt(farm_.database(), fmt::format("device{}", fault.which));
  Say("{}, with {} trials", fault.ToString(), underway.held.size());
  underway.death = history_.deaths.size();
  history_.deaths.push_back({Seconds(), fault.which, underway.held.size(), std::nullopt});
}

void Run::FollowDeath(Underway& underway) {
  constexpr int kLookTicks = 10;
  BoardDeath& death = history_.deaths[*underway.death];
  if (death.requeued_after || ticks_ % kLookTicks != 0) return;
  const auto held = TrialsAt(farm_.database(), fmt::format("device{}", death.device));
  for (const auto& trial : underway.held)
    if (held.count(trial) > 0) return;
  death.requeued_after = Seconds() - death.at;
  Say("device {}'s trials are not its own any more, {:.1f} s after its death", death.device, *death.requeued_after);
}

Status VerifyDatabase(const std::string& database, const std::string& folder) {
  FarmProcess verb(
      {"verify", {"lathe", "db", "verify", "--db", database}, {}, folder + "/verify.out", folder + "/verify.log"});
  verb.Start();
  if (verb.Wait() == 0) return OkStatus();
  return DataLoss(fmt::format("lathe db verify: {}{}", TextOf(verb.place().out), TextOf(verb.place().log)));
}

}  // namespace

StatusOr<ChaosReport> RunChaos(const ChaosOptions& options) {
  Members members;
  members.has_disks = HaveOwnMounts();
  if (!members.has_disks) fmt::print("without full disks: this process may not mount any\n");
  fs::create_directories(options.folder);
  ASSIGN_OR_RETURN(const std::unique_ptr<Farm> farm, Farm::Start({options.folder, options.seed, members}));
  std::vector<Fault> plan = DrawPlan(options.seed, options.faults_for, members);
  std::erase_if(plan, [&](const Fault& fault) { return fault.ToString().find(options.only) == std::string::npos; });
  Run run(options, std::move(plan), *farm);
  run.Go(members.clients);
  ChaosReport report{.history = run.TakeHistory()};
  ASSIGN_OR_RETURN(report.books, ReadBooks(farm->database(), report.history.jobs));
  report.broken = BrokenPromises(report.history, report.books, options.bounds);
  const Status verified = VerifyDatabase(farm->database(), options.folder);
  fs::copy_file(farm->database(), options.folder + "/lathe.db");  // Its disk goes with this process.
  if (!verified.ok()) report.broken.push_back(verified.message());
  return report;
}

namespace {

// How long the one that ran less ran, of two on one board between two looks.
double LongestOverlapMs(const std::vector<BoardSample>& samples) {
  int64_t longest = 0;
  for (const BoardSample& sample : samples) {
    std::vector<int64_t> ran;
    for (const auto& [pid, nanos] : sample.ran_ns) ran.push_back(nanos);
    std::sort(ran.rbegin(), ran.rend());
    longest = std::max(longest, ran[1]);
  }
  return static_cast<double>(longest) / 1e6;
}

// The largest share of a processor that the server took between two looks that were half a second apart or more.
double BusiestServer(const std::vector<ServerSample>& samples, double& at) {
  constexpr double kApart = 0.5;
  double busiest = 0;
  for (size_t i = 1; i < samples.size(); ++i) {
    const ServerSample &before = samples[i - 1], &now = samples[i];
    if (before.pid != now.pid || now.at - before.at < kApart) continue;
    const double share = (now.processor_s - before.processor_s) / (now.at - before.at);
    if (share <= busiest) continue;
    busiest = share;
    at = now.at;
  }
  return busiest;
}

}  // namespace

std::string ChaosReport::Summary() const {
  size_t late = 0;
  for (const BookedRecord& record : books.records) late += record.is_late ? 1 : 0;
  int64_t descriptors = 0, resident_bytes = 0;
  for (const ServerSample& sample : history.server) {
    descriptors = std::max(descriptors, sample.descriptors);
    resident_bytes = std::max(resident_bytes, sample.resident_bytes);
  }
  std::string deaths;
  for (const BoardDeath& death : history.deaths) deaths += fmt::format(" {:.1f}", death.requeued_after.value_or(-1));
  double busiest_at = 0;
  const double busiest = BusiestServer(history.server, busiest_at);
  return fmt::format(
      "{} jobs, {} trials, {} records ({} late), {} results seen in spools, {} unexpected ends; server at most {} "
      "descriptors, {} MiB, {:.0f} % of a CPU (at {:.0f} s); on one board two ran for {:.1f} ms at most; re-queued "
      "after a dead board:{} s",
      history.jobs.size(), books.trials.size(), books.records.size(), late, history.spooled.size(), history.ends.size(),
      descriptors, resident_bytes >> 20, 100 * busiest, busiest_at, LongestOverlapMs(history.boards),
      deaths.empty() ? " -" : deaths);
}

}  // namespace lathe::chaos
