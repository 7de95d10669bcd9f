#include "tuner/service/metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/codegen/llvm/compile_module.h"

namespace lathe {
namespace {

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// Values of labels hold nothing that would have to be escaped but these.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

class Exposition {
 public:
  void Begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <typename Number>
  void Value(Number value, std::string_view labels = "", std::string_view suffix = "") {
    text_ += fmt::format("{}{}{}{}{} {}\n", name_, suffix, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}",
                         value);
  }
  template <typename Number>
  void One(std::string_view name, std::string_view type, std::string_view help, Number value) {
    Begin(name, type, help);
    Value(value);
  }
  void Histogram(std::string_view name, std::string_view help, const DurationHistogram& times) {
    Begin(name, "histogram", help);
    for (size_t i = 0; i < DurationHistogram::kBounds.size(); ++i)
      Value(times.CountTo(i), fmt::format("le=\"{}\"", DurationHistogram::kBounds[i]), "_bucket");
    Value(times.count(), "le=\"+Inf\"", "_bucket");
    Value(times.sum_seconds(), "", "_sum");
    Value(times.count(), "", "_count");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

void AddDevices(const FarmStatistics& farm, Exposition& out) {
  std::map<std::pair<std::string, std::string>, int> shown;
  std::set<std::string> keys;
  for (const auto& [what, count] : farm.devices) {
    const bool is_shown = keys.contains(what.first) || keys.size() < kMostKeysShown;
    if (is_shown) keys.insert(what.first);
    shown[{is_shown ? what.first : "other", what.second}] += count;
  }
  out.Begin("lathe_devices", "gauge",
            "Devices by key and what they are: free, lent, reserved, or why they cannot be lent.");
  for (const auto& [what, count] : shown)
    out.Value(count, fmt::format("key=\"{}\",state=\"{}\"", Escaped(what.first), Escaped(what.second)));
  out.One("lathe_devices_lost_total", "counter", "Times that a device was given up for its silence.",
          farm.counters.devices_lost);
}

void AddHealth(const FarmStatistics& farm, Exposition& out) {
  out.One("lathe_device_checks_total", "counter", "Golden kernels measured on devices that were held back for it.",
          farm.counters.checks);
  out.One("lathe_canaries_total", "counter", "Golden kernels measured among trials.", farm.counters.canaries);
  out.One("lathe_quarantines_total", "counter", "Devices that were found not to measure what they should.",
          farm.counters.quarantines);
  out.Begin("lathe_canary_drift_ratio", "gauge",
            "By key, what the latest canary took over what it should have, minus 1.");
  size_t shown = 0;
  for (const auto& [key, drift] : farm.counters.canary_drift)
    if (shown++ < kMostKeysShown) out.Value(drift, fmt::format("key=\"{}\"", Escaped(key)));
}

void AddWorkers(const FarmStatistics& farm, Exposition& out) {
  int slots = 0, building = 0, tasks = 0;
  for (const WorkerStanding& worker : farm.view.workers) {
    slots += worker.slots;
    building += worker.building;
    tasks += worker.tasks;
  }
  out.One("lathe_workers", "gauge", "Workers that are heard.", farm.view.workers.size());
  out.One("lathe_worker_slots", "gauge", "Builds that they can do at once.", slots);
  out.One("lathe_worker_builds", "gauge", "Builds that they do now.", building);
  out.One("lathe_worker_tasks", "gauge", "Builds that they were given, those under way included.", tasks);
  out.One("lathe_workers_lost_total", "counter", "Times that a worker was given up for its silence.",
          farm.counters.workers_lost);
}

void AddQueues(const FarmStatistics& farm, Exposition& out) {
  out.Begin("lathe_jobs", "gauge", "Jobs that have not ended.");
  out.Value(farm.jobs_at_work, "state=\"at_work\"");
  out.Value(farm.jobs_waiting, "state=\"waiting\"");
  out.Begin("lathe_open_trials", "gauge", "Trials of jobs at work that have not ended, by state.");
  for (const TrialState state : AllTrialStates()) {
    if (IsTerminal(state)) continue;
    const auto count = farm.open_trials.find(state);
    out.Value(count == farm.open_trials.end() ? 0 : count->second,
              fmt::format("state=\"{}\"", LowerCase(TrialStateName(state))));
  }
  out.Begin("lathe_oldest_waiting_seconds", "gauge", "How long the trial has waited that waits longest.");
  out.Value(Seconds(farm.oldest_unbuilt), "phase=\"build\"");
  out.Value(Seconds(farm.oldest_unmeasured), "phase=\"measure\"");
}

void AddAttempts(const FarmCounters& counters, Exposition& out) {
  out.Begin("lathe_attempts_total", "counter", "Attempts that ended, by phase and outcome.");
  const auto add = [&out](std::string_view phase, std::string_view outcome, int64_t count) {
    out.Value(count, fmt::format("phase=\"{}\",outcome=\"{}\"", phase, LowerCase(outcome)));
  };
  for (const auto& [outcome, count] : counters.builds) add("build", TrialStateName(outcome), count);
  for (const auto& [outcome, count] : counters.measurements) add("measure", TrialStateName(outcome), count);
  out.One("lathe_builds_merged_total", "counter", "Builds that waited for an equal one instead of being done.",
          counters.builds_merged);
  out.Begin("lathe_failed_attempts_total", "counter", "Attempts that told nothing of their candidate, by reason.");
  for (const auto& [reason, count] : counters.failed_attempts)
    out.Value(count, fmt::format("reason=\"{}\"", Escaped(InfraFailureName(reason))));
  out.Begin("lathe_results_total", "counter", "Results of devices, by what they were answered.");
  out.Value(counters.results_accepted, "answer=\"accepted\"");
  out.Value(counters.results_repeated, "answer=\"repeated\"");
  out.Value(counters.results_stale, "answer=\"stale\"");
  out.Begin("lathe_leases_total", "counter", "Leases of devices, by what became of them.");
  out.Value(counters.leases_granted, "event=\"granted\"");
  out.Value(counters.leases_taken_back, "event=\"taken_back\"");
}

}  // namespace

ProcessFacts ProcessFacts::Read() {
  ProcessFacts facts;
  int64_t pages = 0, resident = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> resident) facts.resident_bytes = resident * sysconf(_SC_PAGE_SIZE);
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error))
    ++facts.open_files;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  facts.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return facts;
}

std::string RenderMetrics(const FarmStatistics& farm, const ProcessFacts& process) {
  Exposition out;
  AddDevices(farm, out);
  AddHealth(farm, out);
  AddWorkers(farm, out);
  AddQueues(farm, out);
  AddAttempts(farm.counters, out);
  out.Histogram("lathe_result_commit_seconds", "From a result's arrival to its commit.",
                farm.counters.result_to_commit);
  out.Histogram("lathe_built_to_commit_seconds",
                "From an artifact's arrival to its record, without the time that it was measured for.",
                farm.counters.built_to_commit);
  out.Histogram("lathe_device_idle_seconds", "A device's time between two timed windows, where a trial waited.",
                farm.counters.device_idle);
  out.One("lathe_loop_busy_longest_seconds", "gauge",
          "The longest that the deciding loop was busy at a stretch since this was asked last.",
          Seconds(farm.loop_busy_longest));
  out.One("lathe_in_trouble", "gauge", "1 while something is tried again and again in vain.",
          farm.trouble.empty() ? 0 : 1);
  out.One("process_resident_memory_bytes", "gauge", "Memory of the server.", process.resident_bytes);
  out.One("process_open_fds", "gauge", "Files that the server has open.", process.open_files);
  out.One("process_cpu_seconds_total", "counter", "CPU time of the server.", process.cpu_seconds);
  out.Begin("lathe_build_info", "gauge", "Of the server.");
  out.Value(1, fmt::format("version=\"{}\",codegen=\"{}.{}\"", LATHE_VERSION, kCodegenVersion / 1000,
                           kCodegenVersion % 1000));
  return out.Take();
}

}  // namespace lathe
