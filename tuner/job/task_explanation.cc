#include "tuner/job/task_explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "runner/measure_statistics.h"
#include "support/status_macros.h"
#include "tuner/feature/draft_estimate.h"
#include "tuner/feature/feature_extractor.h"
#include "tuner/job/job_search.h"
#include "tuner/search/decision_names.h"
#include "tuner/search/decisions.h"
#include "tuner/space/target_space.h"

namespace lathe {
namespace {

constexpr int kTriesPerSketch = 64;
constexpr size_t kMostNeighbours = 12;

// A candidate that was measured by a search.
struct Tried {
  const TuningRecord* record;
  ScheduleTrace trace;
  int sketch = -1;
  double ns() const { return HasTimings(record->status) ? record->timings->median_ns : 0; }
  bool is_timed() const { return IsTimed(record->status); }
};

// Each trace once, as it was measured first; in the order of the results.
std::vector<Tried> TriedOf(const TuneTask& task, std::span<const TuningRecord> history) {
  std::vector<Tried> tried;
  std::unordered_set<Digest, DigestHash> seen;
  for (const TuningRecord& record : history) {
    if (record.late || record.final_round > 0 || !seen.insert(record.trace_digest).second) continue;
    Tried one{&record, {}, -1};
    if (StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(record.trace_json); trace.ok()) {
      one.trace = *std::move(trace);
      one.sketch = FindSketch(task.sketches, one.trace);
    }
    tried.push_back(std::move(one));
  }
  return tried;
}

SketchStory DescribeSketch(const TuneTask& task, const Sketch& sketch) {
  SketchStory story{.made_by = sketch.made_by};
  const StatusOr<Schedule> unscheduled = Schedule::Create(task.func);
  if (!unscheduled.ok()) return story;
  int accepted = 0;
  for (int i = 0; i < kTriesPerSketch; ++i) {
    Schedule schedule = *unscheduled;
    schedule.Seed(static_cast<uint64_t>(i));
    if (!sketch.trace.Replay(schedule).ok()) continue;
    if (story.choices == 0) story.choices = CountChoices(schedule.trace());
    accepted += SpaceOf(task.target).check(schedule, task.target).ok();
  }
  story.accepted = static_cast<double>(accepted) / kTriesPerSketch;
  return story;
}

// ---- What decisions do.

// Times by the value of one part of a decision.
using Groups = std::map<std::string, std::vector<double>>;

double AdjustedShare(const Groups& groups) {
  double sum = 0, count = 0;
  for (const auto& [value, times] : groups) {
    for (const double ns : times) sum += std::log(ns);
    count += static_cast<double>(times.size());
  }
  const double free = count - static_cast<double>(groups.size());
  if (count < kFewestForShares || free <= 0) return 0;
  double all = 0, within = 0;
  for (const auto& [value, times] : groups) {
    double mean = 0;
    for (const double ns : times) mean += std::log(ns) / static_cast<double>(times.size());
    for (const double ns : times) {
      all += std::pow(std::log(ns) - sum / count, 2);
      within += std::pow(std::log(ns) - mean, 2);
    }
  }
  return all <= 0 ? 0 : std::max(0.0, 1 - (within / free) / (all / (count - 1)));
}

// What a part of the decision of instruction `index` is: a factor of a tile, or all of it.
std::string PartText(const ScheduleTrace& trace, size_t index, size_t part) {
  const Decision* decision = trace.decision(index);
  const auto* tile = decision == nullptr ? nullptr : std::get_if<std::vector<int64_t>>(decision);
  if (tile == nullptr) return DecisionText(trace, index);
  return part < tile->size() ? std::to_string((*tile)[part]) : "-";
}

DecisionStory TellDecision(const std::vector<const Tried*>& peers, const Tried& best, size_t index, size_t part) {
  DecisionStory story;
  story.chosen = PartText(best.trace, index, part);
  Groups groups;
  for (const Tried* peer : peers) groups[PartText(peer->trace, index, part)].push_back(peer->ns());
  for (const auto& [value, times] : groups) {
    story.values.push_back({.value = value,
                            .trials = static_cast<int64_t>(times.size()),
                            .best_ns = *std::min_element(times.begin(), times.end()),
                            .median_ns = Summarize(times).median});
  }
  std::stable_sort(story.values.begin(), story.values.end(),
                   [](const ValueStory& a, const ValueStory& b) { return a.best_ns < b.best_ns; });
  story.share = AdjustedShare(groups);
  return story;
}

size_t PartsOf(const Decision& decision) {
  const auto* tile = std::get_if<std::vector<int64_t>>(&decision);
  return tile == nullptr ? 1 : tile->size();
}

void TellDecisions(const std::vector<const Tried*>& peers, const Tried& best,
                   const std::map<size_t, std::string>& names, TaskExplanation& told) {
  for (const auto& [index, decision] : best.trace.decisions()) {
    const size_t parts = PartsOf(decision);
    for (size_t part = 0; part < parts; ++part) {
      DecisionStory story = TellDecision(peers, best, index, part);
      if (story.values.size() < 2) continue;
      const auto name = names.find(index);
      story.name = name == names.end() ? "decision" : name->second;
      if (parts > 1) story.name += fmt::format(", factor {} of {}", part + 1, parts);
      told.decisions.push_back(std::move(story));
    }
  }
  std::stable_sort(told.decisions.begin(), told.decisions.end(),
                   [](const DecisionStory& a, const DecisionStory& b) { return a.share > b.share; });
}

void TellNeighbours(const std::vector<const Tried*>& peers, const Tried& best,
                    const std::map<size_t, std::string>& names, TaskExplanation& told) {
  for (const Tried* peer : peers) {
    std::vector<size_t> changed;
    for (const auto& [index, decision] : best.trace.decisions()) {
      const Decision* other = peer->trace.decision(index);
      if (other == nullptr || *other != decision) changed.push_back(index);
    }
    if (changed.size() != 1) continue;
    const auto name = names.find(changed[0]);
    told.neighbours.push_back({name == names.end() ? "decision" : name->second, DecisionText(best.trace, changed[0]),
                               DecisionText(peer->trace, changed[0]), peer->ns()});
  }
  std::stable_sort(told.neighbours.begin(), told.neighbours.end(),
                   [](const NeighbourStory& a, const NeighbourStory& b) { return a.median_ns < b.median_ns; });
  if (told.neighbours.size() > kMostNeighbours) told.neighbours.resize(kMostNeighbours);
}

void TellBound(const TuneTask& task, const ScheduleTrace& trace, TaskExplanation& told) {
  StatusOr<Schedule> schedule = Schedule::Create(task.func);
  if (!schedule.ok() || !trace.Replay(*schedule).ok()) return;
  const FeatureRow row = SpaceOf(task.target).features(schedule->func(), task.target);
  const std::vector<std::string>& names = FeatureNames();
  const auto value = [&](const char* name) {
    return row[static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin())];
  };
  const auto bound = static_cast<size_t>(value("anchor.draft.binding"));
  told.bound_by = bound < std::size(kDraftBounds) ? kDraftBounds[bound].name : "";
  told.compute_share = value("anchor.draft.compute_share");
}

void TellBest(const TuneTask& task, const std::vector<Tried>& tried, const TuningRecord& record,
              TaskExplanation& told) {
  if (record.final_round > 0) told.best_final_ns = record.timings->median_ns;
  const auto best = std::find_if(tried.begin(), tried.end(), [&](const Tried& one) {
    return one.record->trace_digest == record.trace_digest && one.ns() > 0;
  });
  if (best == tried.end()) {  // Its screening is no record of this database.
    told.best_ns = record.timings->median_ns;
    return;
  }
  told.best_ns = best->ns();
  told.best_after = best - tried.begin() + 1;
  told.best_sketch = best->sketch;
  told.best_trace = best->trace.ToPython();
  TellBound(task, best->trace, told);
  std::vector<const Tried*> peers;
  for (const Tried& one : tried)
    if (one.is_timed() && IsSameSketch(one.trace, best->trace)) peers.push_back(&one);
  const std::map<size_t, std::string> names = NameDecisions(task, best->trace);
  TellDecisions(peers, *best, names, told);
  TellNeighbours(peers, *best, names, told);
}

// Operations per nanosecond, the most that a device of the class has said it can do; 0: unknown.
StatusOr<double> PeakOf(Store& store, const std::string& device_class, bool is_float32) {
  ASSIGN_OR_RETURN(const std::vector<DeviceRow> devices, store.ListDevices());
  double peak = 0;
  for (const DeviceRow& device : devices) {
    if (device.device_class != device_class) continue;
    const nlohmann::json facts = nlohmann::json::parse(device.facts, nullptr, /*allow_exceptions=*/false);
    const char* field = is_float32 ? "peak_gflops" : "peak_gops";
    if (facts.is_object() && facts.contains(field) && facts[field].is_number())
      peak = std::max(peak, facts[field].get<double>());
  }
  return peak;
}

}  // namespace

TaskExplanation Explain(const TuneTask& task, std::vector<TuningRecord> history,
                        const std::optional<TuningRecord>& best) {
  std::sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  TaskExplanation told;
  told.flops = task.flops;
  for (const Sketch& sketch : task.sketches) told.sketches.push_back(DescribeSketch(task, sketch));
  const std::vector<Tried> tried = TriedOf(task, history);
  for (const Tried& one : tried) {
    ++told.outcomes[std::string(TrialStateName(one.record->status))];
    told.result_ns.push_back(one.ns());
    if (one.sketch < 0) continue;
    SketchStory& sketch = told.sketches[static_cast<size_t>(one.sketch)];
    ++sketch.trials;
    if (one.is_timed() && (sketch.best_ns == 0 || one.ns() < sketch.best_ns)) sketch.best_ns = one.ns();
  }
  if (const StatusOr<MeasureCandidate> untuned = UntunedCandidate(task); untuned.ok()) {
    for (const Tried& one : tried)
      if (one.record->trace_digest == untuned->trace_digest) told.untuned_ns = one.ns();
  }
  if (best && best->timings) TellBest(task, tried, *best, told);
  return told;
}

StatusOr<TaskExplanation> ExplainTask(Store& store, const TaskRow& row) {
  ASSIGN_OR_RETURN(const JobRow job, store.GetJob(row.job_id));
  ASSIGN_OR_RETURN(const JobSpec spec, JobSpec::FromJson(job.spec));
  ASSIGN_OR_RETURN(const TuneTask task, LoadTuneTask(store, row.key, spec.space));
  ASSIGN_OR_RETURN(std::vector<TuningRecord> history, WholeHistory(store, row.key));
  ASSIGN_OR_RETURN(const std::vector<BestAnswer> best, store.QueryBest(std::span(&row.key, 1)));
  TaskExplanation told =
      Explain(task, std::move(history), best[0].lookup == Lookup::kHit ? best[0].record : std::nullopt);
  ASSIGN_OR_RETURN(told.rounds, store.ListModelRounds(row.id));
  ASSIGN_OR_RETURN(const double peak, PeakOf(store, row.key.device_class, task.is_float32));
  if (peak > 0) told.floor_ns = task.flops / peak;
  return told;
}

}  // namespace lathe
