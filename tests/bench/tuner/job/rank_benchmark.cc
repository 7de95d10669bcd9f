// How well a search's cost model ranks candidates that the search has not bred, and what that owes to which of its
// parts.
//
//   rank_benchmark measure --db TUNED.db --unseen FILE --count 64     draws candidates at random, builds and times them
//   rank_benchmark judge --db TUNED.db --unseen FILE --trials 128     teaches models the first trials of each task
//
// A pair counts if one takes at least 5 % longer than the other and their intervals do not meet. Nothing is censored:
// what is slow is timed like the rest. FILE has one JSON object a line: workload, trace, median_ns, low_ns, high_ns.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "runner/runner_process.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/cost_model/ranking_pairs.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/job_search.h"
#include "tuner/job/training_set.h"
#include "tuner/job/warm_start.h"
#include "tuner/search/population.h"
#include "tuner/worker/process_builder.h"

namespace lathe {
namespace {

constexpr double kSmallestGap = 0.05;
constexpr size_t kRound = 16;  // Results between two updates, as in a search.
constexpr size_t kTeachers = 2, kMostTaught = 64;

struct Options {
  std::string database, unseen, tasks, base;
  int count = 64, trials = 128, cpu = 0;
  uint64_t seed = 7;
};

// ---- Measuring

struct Line {
  std::string workload, trace;
  MeasuredTime time;
};

StatusOr<RunReport> TimeModule(const std::string& module, const TuneTask& task, int cpu) {
  auto process = RunnerProcess::Spawn({.program = std::string(LATHE_BIN_DIR) + "/lathe-runner"});
  if (!process.ok()) return Unavailable(process.error().message);
  RunSpec spec{.artifact_path = module, .cpus = {cpu}, .policy = ScreenPolicy()};
  spec.num_threads = static_cast<uint32_t>(task.target.num_cores());
  const RuntimeError started = (*process)->Start(spec);
  if (!started.ok()) return Unavailable(started.message);
  (*process)->Wait(RunnerProcess::State::kFinished, std::chrono::seconds(30));
  return (*process)->outcome().report;
}

StatusOr<MeasuredTime> MeasureOne(Builder& builder, const Workload& workload, const TuneTask& task,
                                  const MeasureCandidate& candidate, const Options& options) {
  const BuildOutcome built = builder.Build({.workload_text = workload.text,
                                            .trace_json = candidate.trace_json,
                                            .target = task.target.ToString(),
                                            .kernel_abi = 2});
  if (const auto* failed = std::get_if<BuildFailed>(&built)) return FailedPrecondition(failed->message);
  const std::string path = options.unseen + ".so";
  std::ofstream(path, std::ios::binary) << std::get<BuiltModule>(built).bytes;
  ASSIGN_OR_RETURN(const RunReport report, TimeModule(path, task, options.cpu));
  std::filesystem::remove(path);
  if (report.status != RunStatus::kOk && report.status != RunStatus::kNoisy)
    return FailedPrecondition(RunStatusName(report.status) + (": " + report.message));
  const SampleStatistics& time = report.measured.statistics;
  return MeasuredTime{time.median, time.median - time.half_width, time.median + time.half_width};
}

Status MeasureTask(Store& store, const TuningKey& key, Builder& builder, const Options& options, std::ofstream& out) {
  ASSIGN_OR_RETURN(const Workload workload, store.GetWorkload(key.workload));
  ASSIGN_OR_RETURN(const TuneTask task, LoadTuneTask(store, key));
  ASSIGN_OR_RETURN(const std::vector<Digest> measured, store.MeasuredTraces(key));
  const std::unordered_set<Digest, DigestHash> known(measured.begin(), measured.end());
  int timed = 0, failed = 0;
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, options.seed)->Propose(2 * options.count)) {
    if (timed == options.count) break;
    if (known.contains(candidate.trace_digest)) continue;
    const StatusOr<MeasuredTime> time = MeasureOne(builder, workload, task, candidate, options);
    if (!time.ok()) {
      ++failed;
      continue;
    }
    out << nlohmann::json{{"workload", key.workload.ToHex()},
                          {"trace", candidate.trace_json},
                          {"median_ns", time->median_ns},
                          {"low_ns", time->low_ns},
                          {"high_ns", time->high_ns}}
               .dump()
        << std::endl;
    ++timed;
  }
  fmt::print("{} {}: {} timed, {} without a time\n", workload.name, key.workload.ToHex().substr(0, 12), timed, failed);
  std::fflush(stdout);
  return OkStatus();
}

Status Measure(const Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(options.database));
  ASSIGN_OR_RETURN(const std::unique_ptr<Builder> builder,
                   MakeProcessBuilders({.program = std::string(LATHE_BIN_DIR) + "/lathe-builder",
                                        .scratch_directory = options.unseen + ".build"})());
  ASSIGN_OR_RETURN(const std::vector<TuningKey> keys, ListKeys(*store));
  std::ofstream out(options.unseen, std::ios::app);
  for (const TuningKey& key : keys)
    if (key.workload.ToHex().starts_with(options.tasks))
      RETURN_IF_ERROR(MeasureTask(*store, key, *builder, options, out));
  return OkStatus();
}

// ---- Judging

StatusOr<std::vector<Line>> ReadLines(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  std::vector<Line> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) return InvalidArgument(fmt::format("read {}: not JSON: {}", path, line));
    lines.push_back({json["workload"], json["trace"], {json["median_ns"], json["low_ns"], json["high_ns"]}});
  }
  return lines;
}

struct JudgedTask {
  std::string name;
  std::vector<CostSample> trials;      // Of the task, as the search measured them.
  std::vector<CostSample> neighbours;  // Of the nearest tasks of the database.
  std::vector<FeatureRow> rows;        // Unseen,
  std::vector<MeasuredTime> times;     // and their times.
};

StatusOr<std::vector<CostSample>> SamplesOfNeighbours(SqliteStore& store, const TuningKey& key, const TuneTask& task) {
  WarmStarts warm(store);
  ASSIGN_OR_RETURN(const std::vector<TuningKey> nearest, warm.Nearest(key, task.func, kTeachers));
  std::vector<CostSample> samples;
  for (size_t i = 0; i < nearest.size(); ++i) {
    ASSIGN_OR_RETURN(TaskSamples read, ReadSamples(store, nearest[i], i + 1));
    const size_t count = std::min(read.samples.size(), kMostTaught);
    for (size_t k = 0; k < count; ++k) samples.push_back(std::move(read.samples[k * read.samples.size() / count]));
  }
  return samples;
}

StatusOr<JudgedTask> ReadTask(SqliteStore& store, const TuningKey& key, std::span<const Line> lines,
                              const Options& options) {
  JudgedTask judged;
  ASSIGN_OR_RETURN(const Workload workload, store.GetWorkload(key.workload));
  judged.name = workload.name;
  ASSIGN_OR_RETURN(TaskSamples read, ReadSamples(store, key, 0));
  ASSIGN_OR_RETURN(judged.neighbours, SamplesOfNeighbours(store, key, read.task));
  const std::unordered_set<Digest, DigestHash> known(read.traces.begin(), read.traces.end());
  MemberFactory factory(read.task);
  for (const Line& line : lines) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(line.trace);
    if (line.workload != key.workload.ToHex() || !trace.ok() || known.contains(Sha256(line.trace))) continue;
    std::optional<Member> member = factory.Recall(*trace);
    if (!member) continue;
    judged.rows.push_back(std::move(member->features));
    judged.times.push_back(line.time);
  }
  if (read.samples.size() > static_cast<size_t>(options.trials))
    read.samples.resize(static_cast<size_t>(options.trials));
  judged.trials = std::move(read.samples);
  return judged;
}

// A model, and what it may see.
struct Variant {
  const char* name;
  std::vector<const char*> without = {};  // Columns whose names begin so are 0.
  bool has_trials = true, has_neighbours = false, has_base = false;
};

FeatureRow Blinded(FeatureRow row, const Variant& variant) {
  const std::vector<std::string>& names = FeatureNames();
  for (size_t i = 0; i < row.size(); ++i)
    for (const char* prefix : variant.without)
      if (names[i].starts_with(prefix)) row[i] = 0;
  return row;
}

Status Teach(CostModel& model, std::vector<CostSample> samples, const Variant& variant) {
  for (CostSample& sample : samples) sample.features = Blinded(std::move(sample.features), variant);
  for (size_t i = 0; i < samples.size(); i += kRound)
    RETURN_IF_ERROR(model.Update(std::span(samples).subspan(i, std::min(kRound, samples.size() - i))).status());
  return OkStatus();
}

StatusOr<PairCount> Judge(const JudgedTask& task, const Variant& variant, std::shared_ptr<const BaseModel> base) {
  const std::unique_ptr<CostModel> model = MakeXgbModel({}, variant.has_base ? base : nullptr);
  if (variant.has_neighbours) RETURN_IF_ERROR(Teach(*model, task.neighbours, variant));
  if (variant.has_trials) RETURN_IF_ERROR(Teach(*model, task.trials, variant));
  std::vector<FeatureRow> rows;
  for (const FeatureRow& row : task.rows) rows.push_back(Blinded(row, variant));
  ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, model->Predict(rows));
  std::vector<double> scores;
  for (const Prediction& prediction : predictions) scores.push_back(prediction.score);
  return JudgePairs(task.times, scores, kSmallestGap);
}

// "anchor.draft" has what the estimate is made of, "draft" the estimate.
const std::vector<Variant> kVariants = {
    {.name = "draft alone", .has_trials = false},
    {.name = "base alone", .has_trials = false, .has_base = true},
    {.name = "model"},
    {.name = "model on base", .has_base = true},
    {.name = "and neighbours", .has_neighbours = true},
    {.name = "all of these", .has_neighbours = true, .has_base = true},
    {.name = "neighbours alone", .has_trials = false, .has_neighbours = true},
    {.name = "no draft", .without = {"draft"}},
    {.name = "no draft, no bounds", .without = {"draft", "anchor.draft", "others.wall"}},
    {.name = "no tile", .without = {"anchor.tile"}},
    {.name = "no loops", .without = {"anchor.loops", "anchor.inner_loop"}},
    {.name = "no caches", .without = {"anchor.l1", "anchor.l2", "anchor.l3", "anchor.footprint"}},
    {.name = "no intensity", .without = {"anchor.intensity"}},
    {.name = "no buffers", .without = {"anchor.buffer"}},
    {.name = "no others", .without = {"others", "function"}},
};

void Print(const char* name, const std::vector<std::string>& cells) {
  fmt::print("{:<22}", name);
  for (const std::string& cell : cells) fmt::print(" {:>12}", cell);
  fmt::print("\n");
}

Status JudgeAll(const Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(options.database));
  ASSIGN_OR_RETURN(const std::vector<Line> lines, ReadLines(options.unseen));
  ASSIGN_OR_RETURN(const std::vector<TuningKey> keys, ListKeys(*store));
  std::shared_ptr<const BaseModel> base = BuiltInBaseModel();
  if (!options.base.empty()) {
    ASSIGN_OR_RETURN(base, ReadBaseModel(options.base));
  }
  std::vector<JudgedTask> tasks;
  std::vector<std::string> names, trials, unseen;
  for (const TuningKey& key : keys) {
    if (!key.workload.ToHex().starts_with(options.tasks)) continue;
    ASSIGN_OR_RETURN(JudgedTask task, ReadTask(*store, key, lines, options));
    if (task.rows.size() < 2) continue;
    names.push_back(task.name.substr(0, 12));
    trials.push_back(std::to_string(task.trials.size()));
    unseen.push_back(std::to_string(task.rows.size()));
    tasks.push_back(std::move(task));
  }
  Print("", names);
  Print("trials", trials);
  Print("unseen", unseen);
  for (const Variant& variant : kVariants) {
    std::vector<std::string> cells;
    for (const JudgedTask& task : tasks) {
      ASSIGN_OR_RETURN(const PairCount count, Judge(task, variant, base));
      cells.push_back(fmt::format("{:.3f} {:5}", count.accuracy(), count.pairs));
    }
    Print(variant.name, cells);
  }
  return OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app{"How well a search's cost model ranks candidates that the search has not bred."};
  app.require_subcommand(1);
  Options options;
  Status status = OkStatus();
  CLI::App* measure = app.add_subcommand("measure", "Draw, build and time candidates of each task of a database");
  measure->add_option("--count", options.count, "Candidates with a time, of each task")->capture_default_str();
  measure->add_option("--seed", options.seed, "Of the draws")->capture_default_str();
  measure->add_option("--cpu", options.cpu, "Where kernels run")->capture_default_str();
  measure->callback([&] { status = Measure(options); });
  CLI::App* judge = app.add_subcommand("judge", "Say how models that know the first trials rank them");
  judge->add_option("--trials", options.trials, "Of each task")->capture_default_str();
  judge->add_option("--base", options.base, "A base model, instead of the program's own");
  judge->callback([&] { status = JudgeAll(options); });
  for (CLI::App* verb : {measure, judge}) {
    verb->add_option("--db", options.database, "A tuned database")->required();
    verb->add_option("--unseen", options.unseen, "The file of random candidates")->required();
    verb->add_option("--workload", options.tasks, "Only workloads whose digest begins so");
  }
  CLI11_PARSE(app, argc, argv);
  if (!status.ok()) fmt::print(stderr, "rank_benchmark: {}\n", status.message());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) { return lathe::Main(argc, argv); }
