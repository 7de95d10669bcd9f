#include "cli/tune_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/text_table.h"
#include "cli/time_text.h"

namespace lathe {
namespace {

double Gflops(const TaskReport& task) { return task.best_ns > 0 ? task.flops / task.best_ns : 0; }

nlohmann::ordered_json TaskJson(const TaskReport& task) {
  nlohmann::ordered_json row = {{"name", task.name},         {"workload", task.key.workload.ToHex()},
                                {"target", task.key.target}, {"weight", task.weight},
                                {"trials", task.trials},     {"status", JobStateName(task.state)},
                                {"gflops", Gflops(task)},    {"failures", task.failures},
                                {"best_ms", nullptr},        {"untuned_ms", nullptr}};
  if (task.best_ns > 0) row["best_ms"] = task.best_ns / 1e6;
  if (task.untuned_ns > 0) row["untuned_ms"] = task.untuned_ns / 1e6;
  return row;
}

}  // namespace

std::optional<NetworkTimes> SumOfTasks(const JobReport& report) {
  NetworkTimes sum{.is_sum = true};
  for (const TaskReport& task : report.tasks) {
    if (task.best_ns <= 0 || task.untuned_ns <= 0) return std::nullopt;
    sum.untuned_ms += static_cast<double>(task.weight) * task.untuned_ns / 1e6;
    sum.tuned_ms += static_cast<double>(task.weight) * task.best_ns / 1e6;
  }
  return sum;
}

void PrintTuneTable(const JobReport& report, const DevicePeak& device) {
  TextTable table({"TASK", ">UNTUNED", ">TUNED", ">SPEED-UP", ">GFLOP/S", ">OF PEAK", ">TRIALS"});
  for (const TaskReport& task : report.tasks) {
    const bool is_timed = task.best_ns > 0;
    const double peak = task.factors == "float32"                            ? device.gflops_f32
                        : task.factors == "bfloat16" && device.gops_bf16 > 0 ? device.gops_bf16
                                                                             : device.gops;
    table.Add({task.name, FormatNs(task.untuned_ns), FormatNs(task.best_ns),
               is_timed && task.untuned_ns > 0 ? fmt::format("{:.2f} x", task.untuned_ns / task.best_ns) : "-",
               is_timed && task.flops > 0 ? fmt::format("{:.1f}", Gflops(task)) : "-",
               is_timed && task.flops > 0 && peak > 0 ? fmt::format("{:.0f} %", 100 * Gflops(task) / peak) : "-",
               std::to_string(task.trials)});
  }
  std::fputs(table.Render().c_str(), stdout);
  std::fflush(stdout);
}

void PrintTuneJson(const JobReport& report, int64_t measured, const DevicePeak& peak, const std::string& database,
                   const std::optional<NetworkTimes>& network) {
  nlohmann::ordered_json json = {{"job", report.job.id},
                                 {"state", JobStateName(report.job.state)},
                                 {"detail", report.job.detail},
                                 {"database", database},
                                 {"trials_measured", measured},
                                 {"peak_gflops", peak.gflops_f32},
                                 {"peak_gops", peak.gops},
                                 {"network", nullptr},
                                 {"tasks", nlohmann::ordered_json::array()}};
  if (network)
    json["network"] = {
        {"untuned_ms", network->untuned_ms}, {"tuned_ms", network->tuned_ms}, {"sum_of_tasks", network->is_sum}};
  int64_t known = 0;
  for (const TaskReport& task : report.tasks) {
    known += task.trials;
    json["tasks"].push_back(TaskJson(task));
  }
  json["trials_reused"] = std::max<int64_t>(0, known - measured);
  PrintJson(json);
}

void SayHowTimeWentBy(const JobProgress& progress) {
  const double total = std::chrono::duration<double>(progress.shares.total()).count();
  if (total <= 0 || progress.measured == 0) return;
  const auto percent = [&](Duration part) { return 100 * std::chrono::duration<double>(part).count() / total; };
  std::fprintf(stderr,
               "time: %.0f %% measuring, %.0f %% building, %.0f %% searching, %.0f %% idle; gap between two trials %s, "
               "artifact to record %s (medians)\n",
               percent(progress.shares.measuring), percent(progress.shares.building),
               percent(progress.shares.searching), percent(progress.shares.idle),
               FormatNs(MedianNs(progress.latencies.idle_gap_ns)).c_str(),
               FormatNs(MedianNs(progress.latencies.built_to_commit_ns)).c_str());
}

}  // namespace lathe
