// lathe tune: measures schedules until the budget is used up, and shows what was gained.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/database_path.h"
#include "cli/explanation.h"
#include "cli/interrupts.h"
#include "cli/message_json.h"
#include "cli/network.h"
#include "cli/number_check.h"
#include "cli/place.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/tune_job.h"
#include "cli/tune_report.h"
#include "cli/tune_workloads.h"
#include "cli/verbs.h"
#include "compiler/ir/workload_facts.h"
#include "compiler/script/printer.h"
#include "rpc/device/device_program.h"
#include "runner/peak.h"
#include "support/status_macros.h"
#include "tracker/lease_table.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/space/spaces.h"

namespace lathe {
namespace {

constexpr int64_t kDefaultTrialsPerTask = 64;
constexpr Duration kServerPatience = std::chrono::seconds(60);

struct TuneOptions {
  TuneFile file;
  Place place;
  std::string target = "auto", device = "local", time, cpus, base_model, space{kDefaultSpace};
  int64_t trials = 0, trials_per_task = 0;
  uint64_t seed = 1;
  int slots = 0, priority = 0;
  double weight = 1;
  bool is_fresh = false, is_json = false, lists_tasks = false, explains = false;
};

// Zero: not limited.
StatusOr<Duration> ReadTimeLimit(const std::string& text) {
  if (text.empty()) return Duration(0);
  ASSIGN_OR_RETURN(const Duration limit, ParseDuration(text));
  if (limit == Duration(0))
    return InvalidArgument(fmt::format("--time \"{}\": more than nothing required, e.g. 10m", text));
  return limit;
}

void ListTasks(const std::vector<Function>& functions, const Target& target, bool is_json) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  TextTable table({"TASK", ">WORKLOAD", ">CALLS", ">MFLOP"});
  for (const Function& function : functions) {
    const WorkloadFacts facts = FactsOf(function.func);
    json.push_back({{"name", function.func.name},
                    {"workload", function.workload.ToHex()},
                    {"target", target.ToString()},
                    {"flops", facts.flops},
                    {"weight", function.weight}});
    table.Add({function.func.name, function.workload.ToHex().substr(0, 12), std::to_string(function.weight),
               fmt::format("{:.4g}", facts.flops / 1e6)});
  }
  if (is_json)
    PrintJson(json);
  else
    std::fputs(table.Render().c_str(), stdout);
}

Status CheckCanBeTuned(const PrimFunc& func) {
  const auto error = [&](std::string_view why) { return InvalidArgument(fmt::format("tune @{}: {}", func.name, why)); };
  if (func.body.As<BlockRealize>() == nullptr)
    return error("its statements are in no block; put each into `with T.block(...)`");
  for (const ParamBuffer& param : func.buffer_map) {
    if (!ConstantShape(param.buffer->shape))
      return error(fmt::format("buffer \"{}\" has symbolic extents; write its shape with numbers", param.buffer->name));
  }
  return OkStatus();
}

// Candidates are built here for the target, and run here.
Status CheckRunsHere(const Target& target, const HostFacts& host) {
  if (target.triple() == host.triple) return OkStatus();
  return InvalidArgument(
      fmt::format("tune: the target is for {}, this machine is {}; start `lathe device` there and tune with --server",
                  target.triple(), host.triple));
}

JobRequest RequestFor(const TuneOptions& options, const std::vector<Function>& functions, const Target& target,
                      Duration time_limit, const std::string& space, const DeviceWish& devices) {
  JobRequest request{.name = options.file.path, .device_key = devices.key()};
  if (!devices.condition().empty()) request.spec.devices = devices.ToString();
  request.spec.priority = options.priority;
  request.spec.weight = options.weight;
  const auto tasks = static_cast<int64_t>(functions.size());
  const bool has_task_budget = options.trials_per_task > 0;
  request.spec.total_trials = options.trials > 0 ? options.trials : has_task_budget ? 0 : kDefaultTrialsPerTask * tasks;
  request.spec.time_limit = time_limit;
  request.spec.is_fresh = options.is_fresh;
  request.spec.seed = options.seed;
  request.spec.space = space;
  for (const Function& function : functions) {
    const std::string text = Print(IRModule{{function.func}});
    request.tasks.push_back({.workload = {function.workload, function.func.name, text},
                             .name = function.func.name,
                             .target = target.ToString(),
                             .weight = function.weight,
                             .trial_budget = has_task_budget ? options.trials_per_task : request.spec.total_trials});
  }
  return request;
}

// Removed by an interrupt as well: nothing of a job depends on them.
struct TimingFiles {
  std::string untuned, tuned;
};

StatusOr<NetworkTimes> TimeUntunedAndTuned(const relax::IRModule& network, const Target& target,
                                           const std::string& database, const TimingFiles& files,
                                           const std::vector<int>& cpus) {
  constexpr int kRepeats = 15;
  StatusOr<NetworkTimes> times = [&]() -> StatusOr<NetworkTimes> {
    ASSIGN_OR_RETURN(Session session, Session::Open({.database = database}, Access::kRead));
    RETURN_IF_ERROR(BuildNetwork(network, target, KnowsNothing("untuned"), files.untuned).status());
    RETURN_IF_ERROR(BuildNetwork(network, target, LookupIn(session.schedules(), target), files.tuned).status());
    ASSIGN_OR_RETURN(const std::vector<double> medians, TimeNetworks({files.untuned, files.tuned}, cpus, kRepeats));
    return NetworkTimes{medians[0], medians[1]};
  }();
  std::remove(files.untuned.c_str());
  std::remove(files.tuned.c_str());
  return times;
}

// Where the results are, as a flag of other verbs.
std::string PlaceFlag(const TuneOptions& options, const TunedJob& job) {
  if (!options.place.server.empty()) return " --server " + job.server;
  return options.place.database.empty() ? "" : " --db " + options.place.database;
}

// What other verbs have to be told, since they would not mean this target by themselves.
std::string TargetFlag(const TuneOptions& options, const Target& target) {
  const StatusOr<Target> usual = Target::Parse("auto");
  if (usual.ok() && usual->ToString() == target.ToString()) return "";
  const bool is_part = options.target == "auto";  // Of the CPUs here.
  return fmt::format(" --target \"{}\"",
                     is_part ? fmt::format("auto -num-cores={}", target.num_cores()) : options.target);
}

int SayEnding(const TuneOptions& options, const TunedJob& job, bool is_network, const Target& target) {
  const std::string where = PlaceFlag(options, job);
  if (job.ending == TuneEnding::kInterrupted && job.server.empty()) {
    std::fputs("stopped at the last committed trial; the same command goes on from here\n", stderr);
    return kExitInterrupted;
  }
  if (job.ending == TuneEnding::kInterrupted) {
    std::fprintf(
        stderr,
        "job %lld goes on without this command; the same command comes back to it, `lathe watch %lld%s` shows it\n",
        static_cast<long long>(job.report.job.id), static_cast<long long>(job.report.job.id), where.c_str());
    return kExitInterrupted;
  }
  if (job.ending == TuneEnding::kCancelled) {
    std::fputs("cancelled; what was measured is kept\n", stderr);
    return kExitInterrupted;
  }
  if (job.report.job.state != JobState::kDone) {
    std::fprintf(stderr, "lathe: tune %s: job %lld is %s: %s\n", options.file.path.c_str(),
                 static_cast<long long>(job.report.job.id), std::string(JobStateName(job.report.job.state)).c_str(),
                 job.report.job.detail.c_str());
    return kExitFailed;
  }
  const auto untimed = std::count_if(job.report.tasks.begin(), job.report.tasks.end(),
                                     [](const TaskReport& task) { return task.best_ns <= 0; });
  if (untimed > 0) {
    std::fprintf(stderr, "%lld of %zu kernels have no time yet; a larger --trials or --time goes on with them\n",
                 static_cast<long long>(untimed), job.report.tasks.size());
  }
  if (!job.report.job.detail.empty()) std::fprintf(stderr, "%s\n", job.report.job.detail.c_str());
  const std::string next = !options.place.server.empty() ? fmt::format("lathe trials {}{}", job.report.job.id, where)
                           : is_network ? fmt::format("lathe compile {} -o network.so{}{}", options.file.path,
                                                      TargetFlag(options, target), where)
                                        : fmt::format("lathe best {}{}", options.file.path, where);
  std::fprintf(stderr, "next: %s\n", next.c_str());
  return kExitOk;
}

Status Explain(const TuneOptions& options, int64_t job_id) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kRead));
  std::printf("\n");
  return ExplainJob(session.tuning(), job_id, {.tasks = options.file.tasks});
}

// The tables or the JSON, and on the way what only an idle machine can tell: its peak, and the network's times.
int Report(const TuneOptions& options, TunedJob job, const Workloads& workloads, const Target& target,
           const std::string& database, const std::vector<int>& cpus, TimePoint begin) {
  const TimingFiles files{database + ".untuned.so", database + ".tuned.so"};
  std::vector<std::string> leftovers;
  for (const std::string& file : {files.untuned, files.tuned}) {
    for (const char* suffix : {"", kKernelPart, kGraphPart, kConstantsPart}) leftovers.push_back(file + suffix);
  }
  EndAtInterrupt(std::move(leftovers));
  const bool is_ours =
      job.farm != nullptr && job.ending == TuneEnding::kJobEnded && target.arch() == Target::Arch::kX86_64;
  const DevicePeak peak = is_ours ? MeasureDevicePeak(cpus) : DevicePeak();
  if (!options.is_json) PrintTuneTable(job.report, peak);
  std::optional<NetworkTimes> network;
  if (workloads.network && is_ours) {
    StatusOr<NetworkTimes> times = TimeUntunedAndTuned(*workloads.network, target, database, files, cpus);
    if (times.ok())
      network = *times;
    else
      std::fprintf(stderr, "the network could not be timed: %s\n", times.status().message().c_str());
  } else if (workloads.network) {
    network = SumOfTasks(job.report);
  }
  if (options.is_json)
    PrintTuneJson(job.report, job.measured, peak, options.place.server.empty() ? database : job.server, network);
  if (network && !options.is_json) {
    std::printf("network%s: untuned %.2f ms, tuned %.2f ms per inference: %.2f x\n",
                network->is_sum ? " (sum of its tasks)" : "", network->untuned_ms, network->tuned_ms,
                network->untuned_ms / network->tuned_ms);
  }
  if (options.explains) {
    if (const Status told = Explain(options, job.report.job.id); !told.ok()) ReportError(told);
  }
  if (job.progress) SayHowTimeWentBy(*job.progress);
  std::fprintf(stderr, "%lld trials measured, %s; %s %s\n", static_cast<long long>(job.measured),
               FormatSeconds(std::chrono::duration<double>(SystemClock().Now() - begin).count()).c_str(),
               options.place.server.empty() ? "database" : "server",
               (options.place.server.empty() ? database : job.server).c_str());
  return SayEnding(options, job, workloads.network.has_value(), target);
}

StatusOr<int> Run(const TuneOptions& options) {
  ASSIGN_OR_RETURN(const Duration time_limit, ReadTimeLimit(options.time));
  ASSIGN_OR_RETURN(const std::string space, CanonicalSpace(options.space));
  ASSIGN_OR_RETURN(const std::vector<int> cpus, ParseDeviceCpus(options.cpus));
  HostFacts host = DetectHost();
  host.num_cores = static_cast<int>(cpus.size());
  // A server's devices may be others; what "auto" means there they say themselves. Graph passes take this machine's
  // word for it.
  ASSIGN_OR_RETURN(const Target target, Target::Parse(options.target, host));
  ASSIGN_OR_RETURN(const Workloads workloads, ReadWorkloads(options.file, target));
  if (options.lists_tasks) {
    ListTasks(workloads.functions, target, options.is_json);
    return kExitOk;
  }
  if (!workloads.network) {  // Of a network's tasks those are tuned that can be.
    for (const Function& function : workloads.functions) RETURN_IF_ERROR(CheckCanBeTuned(function.func));
  }
  if (options.place.server.empty()) RETURN_IF_ERROR(CheckRunsHere(target, host));
  ASSIGN_OR_RETURN(const DeviceWish devices, DeviceWish::ParseForJob(options.device));
  const JobRequest request = RequestFor(options, workloads.functions, target, time_limit, space, devices);
  const std::string database = AbsolutePath(DatabasePath(options.place.database));
  CountInterrupts();
  const TimePoint begin = SystemClock().Now();
  ProgressDisplay display(isatty(STDERR_FILENO) != 0, begin);
  if (!options.place.server.empty()) {
    ASSIGN_OR_RETURN(TunedJob job, TuneOnServer(options.place, request, options.target, kServerPatience, display));
    return Report(options, std::move(job), workloads, target, database, cpus, begin);
  }
  RETURN_IF_ERROR(CreateFolderOf(database));
  std::shared_ptr<const BaseModel> base_model;
  if (!options.base_model.empty()) {
    ASSIGN_OR_RETURN(base_model, ReadBaseModel(options.base_model));
  }
  const bool is_verbose = getenv("LATHE_VERBOSE") != nullptr;
  const EmbeddedOptions embedded{.database_path = database,
                                 .device_key = devices.key(),
                                 .cpus = cpus,
                                 .slots = options.slots,
                                 .base_model = base_model,
                                 .log = [is_verbose](std::string text) {
                                   if (is_verbose) std::fprintf(stderr, "%s\n", text.c_str());
                                 }};
  ASSIGN_OR_RETURN(TunedJob job, TuneDatabase(embedded, request, options.target, display));
  return Report(options, std::move(job), workloads, target, database, cpus, begin);
}

}  // namespace

void AddTune(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TuneOptions>();
  CLI::App* verb = app.add_subcommand(
      "tune", "Measure schedules of a network or of the functions of a TVMScript file, and remember the best");
  verb->add_option(
          "FILE", options->file.path,
          "MODEL.onnx, or FUNC.py: TVMScript with one or more T.prim_func and nothing else; it is read, not run")
      ->required();
  AddNetworkFlags(*verb, options->target, options->file.network);
  verb->add_option("--device", options->device,
                   "Devices to measure on: a key, or a key and conditions: 'pi4 & mem>=4GiB' (docs/operating.md)")
      ->capture_default_str();
  verb->add_option("--priority", options->priority, "Whose turn it is on a server: -2 to 2; above 0 for admins")
      ->check(CLI::Range(kLowestPriority, kHighestPriority))
      ->capture_default_str();
  verb->add_option("--weight", options->weight, "Of its share of devices among your jobs on a server: 0.01 to 100")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  verb->add_option("--trials", options->trials, "Trials in all, known ones included (default 64 per task)")
      ->check(WholeNumber(1, kMostTrialsAsked));
  verb->add_option("--trials-per-task", options->trials_per_task, "Trials per task, known ones included")
      ->check(WholeNumber(1, kMostTrialsAsked));
  verb->add_option("--time", options->time, "Stop searching after this time: 90s, 10m, 2h");
  verb->add_option("--tasks", options->file.tasks, "Only functions whose name fits this pattern")
      ->capture_default_str();
  verb->add_option("--cpus", options->cpus, "CPUs to measure on here: 0-3,6 (default: all)");
  verb->add_option("--slots", options->slots, "Builds at once here (default: one per CPU)")
      ->check(WholeNumber(1, kMostThreads));
  verb->add_option("--space", options->space,
                   "Where to search: rules, sketches, templates, or a list of them with commas")
      ->capture_default_str();
  AddPlaceFlags(*verb, options->place);
  verb->add_option("--base-model", options->base_model,
                   "What searches here begin with: a file of `lathe model train` (default: a part of this program)")
      ->excludes("--server");
  verb->add_option("--seed", options->seed, "Of the search; another one tries other candidates")->capture_default_str();
  verb->add_flag("--fresh", options->is_fresh, "Measure anew, whatever the database knows");
  verb->add_flag("--list-tasks", options->lists_tasks, "Print the tasks and end");
  verb->add_flag("--explain", options->explains, "Then say why the best are the best, as `lathe explain JOB` does");
  verb->add_flag("--json", options->is_json, "Print the result as JSON")->excludes("--explain");
  verb->callback([options, &exit_code] {
    const StatusOr<int> code = Run(*options);
    exit_code = code.ok() ? *code : ReportError(code.status());
  });
}

}  // namespace lathe
