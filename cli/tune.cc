// lathe tune FUNC.py: measures schedules until the budget is used up, and shows what was gained.
#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "cli/database_path.h"
#include "cli/interrupts.h"
#include "cli/peak_of_machine.h"
#include "cli/progress_display.h"
#include "cli/report_error.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "compiler/target/target.h"
#include "rpc/device/device_program.h"
#include "support/status_macros.h"
#include "tuner/job/embedded.h"
#include "tuner/job/job_report.h"
#include "tuner/measure/workload_facts.h"

namespace lathe {
namespace {

constexpr int64_t kDefaultTrialsPerTask = 64;
constexpr Duration kLookEvery = std::chrono::milliseconds(100);
constexpr Duration kSecondPress = std::chrono::milliseconds(700);

struct TuneOptions {
  std::string file, target = "auto", device = "local", database, tasks = "*", time, cpus;
  int64_t trials = 0, trials_per_task = 0;
  int slots = 0;
  bool is_fresh = false, is_json = false, lists_tasks = false;
};

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) return NotFound(fmt::format("read {}: {}", path, std::strerror(errno)));
  return text;
}

// "90", "90s", "10m", "2h".
StatusOr<Duration> ParseTime(const std::string& text) {
  if (text.empty()) return Duration(0);
  size_t end = 0;
  double amount = 0;
  try {
    amount = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (end == 0 || seconds == 0 || !(amount > 0) || amount > 1e6) {
    return InvalidArgument(fmt::format("--time \"{}\": a number and a unit required, like 90s, 10m or 2h", text));
  }
  return Duration(static_cast<int64_t>(amount * seconds * 1e9));
}

struct Function {
  PrimFunc func;
  Digest workload;
};

StatusOr<std::vector<Function>> ReadFunctions(const TuneOptions& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(options.file));
  ASSIGN_OR_RETURN(const IRModule module, ParseModule(text, options.file));
  std::vector<Function> functions;
  std::string names;
  for (const PrimFunc& func : module.prim_funcs) {
    names += (names.empty() ? "" : ", ") + func.name;
    if (fnmatch(options.tasks.c_str(), func.name.c_str(), 0) != 0) continue;
    const Digest workload = WorkloadDigest(func);
    const bool is_known = std::any_of(functions.begin(), functions.end(), [&](const Function& f) { return f.workload == workload; });
    if (!is_known) functions.push_back({func, workload});
  }
  if (functions.empty()) {
    return InvalidArgument(names.empty() ? fmt::format("read {}: no T.prim_func in it; nothing can be tuned", options.file)
                                         : fmt::format("--tasks \"{}\": fits no function of {}; it has {}", options.tasks, options.file, names));
  }
  return functions;
}

void ListTasks(const std::vector<Function>& functions, const Target& target, bool is_json) {
  nlohmann::json json = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows;
  for (const Function& function : functions) {
    const WorkloadFacts facts = FactsOf(function.func);
    json.push_back({{"name", function.func.name}, {"workload", function.workload.ToHex()}, {"target", target.ToString()}, {"flops", facts.flops}, {"weight", 1}});
    rows.push_back({function.func.name, function.workload.ToHex().substr(0, 12), fmt::format("{:.4g}", facts.flops / 1e6)});
  }
  const std::string text = is_json ? json.dump(2) + "\n" : RenderTable({"task", "workload", "MFLOP"}, rows);
  std::fputs(text.c_str(), stdout);
}

JobRequest RequestFor(const TuneOptions& options, const std::vector<Function>& functions, const Target& target, Duration time_limit) {
  JobRequest request{.name = options.file, .device_key = options.device};
  const auto tasks = static_cast<int64_t>(functions.size());
  const bool has_task_budget = options.trials_per_task > 0;
  request.spec.total_trials = options.trials > 0 ? options.trials : has_task_budget ? 0 : kDefaultTrialsPerTask * tasks;
  request.spec.time_limit = time_limit;
  request.spec.is_fresh = options.is_fresh;
  for (const Function& function : functions) {
    const std::string text = Print(IRModule{{function.func}});
    request.tasks.push_back({.workload = {function.workload, function.func.name, text},
                             .name = function.func.name,
                             .target = target.ToString(),
                             .trial_budget = has_task_budget ? options.trials_per_task : request.spec.total_trials});
  }
  return request;
}

std::string RandomId() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

bool AsksTheSame(class Store& store, const JobRow& row, const JobRequest& request) {
  if (row.spec != request.spec.ToJson()) return false;
  const StatusOr<std::vector<TaskRow>> tasks = store.ListTasks(row.id);
  if (!tasks.ok() || tasks->size() != request.tasks.size()) return false;
  for (size_t i = 0; i < tasks->size(); ++i) {
    const TaskRow& task = (*tasks)[i];
    const TaskRequest& wanted = request.tasks[i];
    if (task.key != KeyFor(wanted.workload.digest, wanted.target, request.device_key) || task.trial_budget != wanted.trial_budget) return false;
  }
  return true;
}

// The unfinished job of the same command, if there is one; else a new one.
StatusOr<int64_t> SubmitOrResume(Coordinator& coordinator, JobRequest request) {
  for (int64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<JobRow> rows, coordinator.store().ListJobs({after, 1000}));
    for (const JobRow& row : rows) {
      if (IsTerminal(row.state) || !AsksTheSame(coordinator.store(), row, request)) continue;
      RETURN_IF_ERROR(coordinator.ResumeJob(row.id));
      return row.id;
    }
    if (rows.size() < 1000) break;
    after = rows.back().id;
  }
  request.request_id = RandomId();
  ASSIGN_OR_RETURN(const JobRow job, coordinator.SubmitJob(request));
  return job.id;
}

void SayEstimate(Coordinator& coordinator, const JobRequest& request) {
  int64_t known = 0;
  for (const TaskRequest& task : request.tasks) {
    const StatusOr<int64_t> count = coordinator.store().CountMeasured(KeyFor(task.workload.digest, task.target, request.device_key));
    if (count.ok()) known += *count;
  }
  int64_t budget = 0;
  for (const TaskRequest& task : request.tasks) budget += task.trial_budget;
  if (request.spec.total_trials > 0) budget = std::min(budget, request.spec.total_trials);
  const int64_t rest = std::max<int64_t>(0, budget - (request.spec.is_fresh ? 0 : known));
  // A trial is a build and about 0.1 s of timing; what it really takes the display tells.
  std::fprintf(stderr, "%zu %s for %s: at most %lld trials to measure (%lld known already), very roughly %s\n", request.tasks.size(),
               request.tasks.size() == 1 ? "task" : "tasks", request.tasks[0].target.c_str(), static_cast<long long>(rest), static_cast<long long>(known),
               FormatSeconds(static_cast<double>(rest) * 0.35).c_str());
}

enum class Ending { kJobEnded, kInterrupted, kCancelled };

Ending Follow(EmbeddedFarm& farm, int64_t job_id, ProgressDisplay& display) {
  Coordinator& coordinator = farm.coordinator();
  while (!coordinator.WaitForJob(job_id, kLookEvery)) {
    if (NumInterrupts() > 0) break;
    const StatusOr<JobProgress> progress = coordinator.Progress(job_id);
    if (progress.ok()) display.Show(*progress, SystemClock().Now());
  }
  if (coordinator.WaitForJob(job_id, Duration(0))) return Ending::kJobEnded;
  coordinator.Drain();
  display.Say("stopping; press Ctrl-C again to cancel the job");
  for (Duration waited{}; waited < kSecondPress && NumInterrupts() < 2; waited += kLookEvery) std::this_thread::sleep_for(kLookEvery);
  if (NumInterrupts() < 2) return Ending::kInterrupted;
  (void)coordinator.CancelJob(job_id, "cancelled by the user");
  return Ending::kCancelled;
}

double Gflops(const TaskReport& task) { return task.best_ns > 0 ? task.flops / task.best_ns : 0; }

void PrintTable(const JobReport& report, double peak) {
  std::vector<std::vector<std::string>> rows;
  for (const TaskReport& task : report.tasks) {
    const bool is_timed = task.best_ns > 0;
    rows.push_back({task.name, FormatTime(task.untuned_ns), FormatTime(task.best_ns),
                    is_timed && task.untuned_ns > 0 ? fmt::format("{:.2f} x", task.untuned_ns / task.best_ns) : "-",
                    is_timed && task.flops > 0 ? fmt::format("{:.1f}", Gflops(task)) : "-",
                    is_timed && task.flops > 0 && peak > 0 ? fmt::format("{:.0f} %", 100 * Gflops(task) / peak) : "-", std::to_string(task.trials)});
  }
  std::fputs(RenderTable({"task", "untuned", "tuned", "speed-up", "GFLOP/s", "of peak", "trials"}, rows).c_str(), stdout);
}

void PrintJson(const JobReport& report, int64_t measured, double peak, const std::string& database) {
  nlohmann::json json = {{"job", report.job.id},
                         {"state", JobStateName(report.job.state)},
                         {"detail", report.job.detail},
                         {"database", database},
                         {"trials_measured", measured},
                         {"peak_gflops", peak},
                         {"network", nullptr},
                         {"tasks", nlohmann::json::array()}};
  int64_t known = 0;
  for (const TaskReport& task : report.tasks) {
    known += task.trials;
    nlohmann::json row = {{"name", task.name},          {"workload", task.key.workload.ToHex()}, {"target", task.key.target},
                          {"weight", task.weight},      {"trials", task.trials},                 {"status", JobStateName(task.state)},
                          {"gflops", Gflops(task)},     {"failures", task.failures},             {"best_ms", nullptr},
                          {"untuned_ms", nullptr}};
    if (task.best_ns > 0) row["best_ms"] = task.best_ns / 1e6;
    if (task.untuned_ns > 0) row["untuned_ms"] = task.untuned_ns / 1e6;
    json["tasks"].push_back(std::move(row));
  }
  json["trials_reused"] = std::max<int64_t>(0, known - measured);
  std::fputs((json.dump(2) + "\n").c_str(), stdout);
}

void SayHowTimeWentBy(const JobProgress& progress) {
  const double total = std::chrono::duration<double>(progress.shares.total()).count();
  if (total <= 0 || progress.measured == 0) return;
  const auto percent = [&](Duration part) { return 100 * std::chrono::duration<double>(part).count() / total; };
  std::fprintf(stderr, "time: %.0f %% measuring, %.0f %% building, %.0f %% searching, %.0f %% idle; gap between two trials %s, artifact to record %s (medians)\n",
               percent(progress.shares.measuring), percent(progress.shares.building), percent(progress.shares.searching), percent(progress.shares.idle),
               FormatTime(MedianNs(progress.latencies.idle_gap_ns)).c_str(), FormatTime(MedianNs(progress.latencies.built_to_commit_ns)).c_str());
}

StatusOr<int> Run(const TuneOptions& options) {
  ASSIGN_OR_RETURN(const Duration time_limit, ParseTime(options.time));
  ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseDeviceCpus(options.cpus));
  HostFacts host = DetectHost();
  host.num_cores = static_cast<int>(cpus.size());
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target, host));
  ASSIGN_OR_RETURN(const std::vector<Function> functions, ReadFunctions(options));
  if (options.lists_tasks) {
    ListTasks(functions, target, options.is_json);
    return kExitOk;
  }
  const std::string database = AbsolutePath(DatabasePath(options.database));
  RETURN_IF_ERROR(CreateFolderOf(database));
  CountInterrupts();
  const TimePoint begin = SystemClock().Now();
  ProgressDisplay display(isatty(STDERR_FILENO) != 0, begin);
  std::mutex said_mutex;
  EmbeddedOptions embedded{.database_path = database, .device_key = options.device, .cpus = cpus, .slots = options.slots,
                           .log = [&](std::string text) {
                             if (getenv("LATHE_VERBOSE") == nullptr) return;
                             std::lock_guard lock(said_mutex);
                             std::fprintf(stderr, "%s\n", text.c_str());
                           }};
  ASSIGN_OR_RETURN(std::unique_ptr<EmbeddedFarm> farm, EmbeddedFarm::Start(std::move(embedded)));
  Coordinator& coordinator = farm->coordinator();
  const JobRequest request = RequestFor(options, functions, target, time_limit);
  SayEstimate(coordinator, request);
  ASSIGN_OR_RETURN(const int64_t job_id, SubmitOrResume(coordinator, request));
  const Ending ending = Follow(*farm, job_id, display);
  display.Clear();
  ASSIGN_OR_RETURN(const JobProgress progress, coordinator.Progress(job_id));
  ASSIGN_OR_RETURN(const JobReport report, MakeJobReport(coordinator.store(), job_id));
  farm.reset();
  const double peak = ending == Ending::kJobEnded && target.arch() == Target::Arch::kX86_64 ? MeasurePeakGflops(cpus) : 0;
  if (options.is_json) PrintJson(report, progress.measured, peak, database);
  else PrintTable(report, peak);
  SayHowTimeWentBy(progress);
  std::fprintf(stderr, "%lld trials measured, %s; database %s\n", static_cast<long long>(progress.measured),
               FormatSeconds(std::chrono::duration<double>(SystemClock().Now() - begin).count()).c_str(), database.c_str());
  if (ending == Ending::kInterrupted) {
    std::fputs("stopped at the last committed trial; the same command goes on from here\n", stderr);
    return kExitInterrupted;
  }
  if (ending == Ending::kCancelled) {
    std::fputs("cancelled; what was measured is kept\n", stderr);
    return kExitInterrupted;
  }
  if (report.job.state == JobState::kFailed) {
    std::fprintf(stderr, "lathe: tune %s: %s\n", options.file.c_str(), report.job.detail.c_str());
    return kExitFailed;
  }
  std::fprintf(stderr, "next: lathe best %s%s\n", options.file.c_str(), options.database.empty() ? "" : (" --db " + options.database).c_str());
  return kExitOk;
}

}  // namespace

void AddTune(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* verb = app.add_subcommand("tune", "Measure schedules of the functions of a TVMScript file and remember the best");
  verb->add_option("FILE", options->file, "FUNC.py: TVMScript with one or more T.prim_func")->required();
  verb->add_option("--target", options->target, "TVM target string or tag; auto asks this machine")->capture_default_str();
  verb->add_option("--device", options->device, "Key of the devices to measure on")->capture_default_str();
  verb->add_option("--trials", options->trials, "Trials in all, known ones included (default 64 per task)")->check(CLI::PositiveNumber);
  verb->add_option("--trials-per-task", options->trials_per_task, "Trials per task, known ones included")->check(CLI::PositiveNumber);
  verb->add_option("--time", options->time, "Stop searching after this time: 90s, 10m, 2h");
  verb->add_option("--tasks", options->tasks, "Only functions whose name fits this pattern")->capture_default_str();
  verb->add_option("--cpus", options->cpus, "CPUs to measure on: 0-3,6 (default: all)");
  verb->add_option("--slots", options->slots, "Builds at once (default: one per CPU)")->check(CLI::PositiveNumber);
  verb->add_option("--db", options->database, "Database file (default $LATHE_DB or ~/.local/share/lathe/lathe.db)");
  verb->add_flag("--fresh", options->is_fresh, "Measure anew, whatever the database knows");
  verb->add_flag("--list-tasks", options->lists_tasks, "Print the tasks and end");
  verb->add_flag("--json", options->is_json, "Print the result as JSON");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
