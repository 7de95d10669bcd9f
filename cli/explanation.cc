#include "cli/explanation.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/message_json.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kShownDecisions = 6, kShownValues = 4, kShownNeighbours = 6, kShownRounds = 12;

std::string Percent(double share) { return fmt::format("{:.0f} %", 100 * share); }
// How much longer than the best: "+3.1 %".
std::string Behind(double ns, double best_ns) {
  return best_ns > 0 ? fmt::format("{:+.1f} %", 100 * (ns / best_ns - 1)) : "-";
}

std::string RenderBest(const v1::TaskExplanation& told) {
  if (told.best_ns() <= 0) return "  no schedule has a time yet\n";
  std::string text = fmt::format("  best {}", FormatNs(told.best_ns()));
  if (told.best_final_ns() > 0) text += fmt::format(" ({} when measured again)", FormatNs(told.best_final_ns()));
  if (told.flops() > 0) text += fmt::format(": {:.4g} GFLOP/s", told.flops() / told.best_ns());
  if (told.floor_ns() > 0) text += fmt::format(", {} of the device's peak", Percent(told.floor_ns() / told.best_ns()));
  text += '\n';
  if (told.untuned_ns() > 0)
    text += fmt::format("  untuned {}: {:.2f} x\n", FormatNs(told.untuned_ns()), told.untuned_ns() / told.best_ns());
  if (!told.bound_by().empty()) {
    text += fmt::format("  estimated to be bound by {}; arithmetic needs {} of its cycles\n", told.bound_by(),
                        Percent(told.compute_share()));
  }
  return text;
}

std::string RenderSearch(const v1::TaskExplanation& told) {
  std::vector<std::string> outcomes;
  for (const v1::StateCount& count : told.outcomes())
    outcomes.push_back(fmt::format("{} {}", count.trials(), count.state()));
  std::string text =
      fmt::format("  {} results{}{}\n", told.result_ns_size(), outcomes.empty() ? "" : ": ", fmt::join(outcomes, ", "));
  if (told.best_after() > 0) text += fmt::format("  the best was result {}\n", told.best_after());
  TextTable table({">SKETCH", ">CHOICES", ">ACCEPTED", ">RESULTS", ">BEST", "SPACE"});
  for (int i = 0; i < told.sketches_size(); ++i) {
    const v1::SketchStory& sketch = told.sketches(i);
    table.Add({fmt::format("{}{}", i, i == told.best_sketch() ? " *" : ""), fmt::format("{:.3g}", sketch.choices()),
               Percent(sketch.accepted()), std::to_string(sketch.trials()), FormatNs(sketch.best_ns()),
               sketch.made_by()});
  }
  return text + table.Render();
}

std::string RenderRounds(const v1::TaskExplanation& told) {
  if (told.rounds().empty()) return "";
  TextTable table({">RESULTS", ">PAIRS RIGHT", ">REGRET AT 1", ">AT 8", ">ROWS", ">TREES", ">DRAFT"});
  const int count = told.rounds_size(), shown = std::min(count, kShownRounds);
  for (int i = 0; i < shown; ++i) {  // Evenly, the first and the last among them.
    const v1::ModelRound& round = told.rounds(shown < 2 ? 0 : i * (count - 1) / (shown - 1));
    const double right = round.pairs() > 0 ? double(round.pairs_right()) / double(round.pairs()) : 0;
    table.Add({std::to_string(round.trials()), fmt::format("{} of {}", Percent(right), round.pairs()),
               Percent(round.regret_at_1()), Percent(round.regret_at_8()), std::to_string(round.rows()),
               std::to_string(round.trees()), fmt::format("{:.2f}", round.draft_weight())});
  }
  return "  how the model ranked each batch before it learned from it\n" + table.Render();
}

std::string RenderDecisions(const v1::TaskExplanation& told) {
  if (told.decisions().empty()) return "";
  std::string text = "  what mattered: share of the variance of log time, and the fastest with each value\n";
  for (int i = 0; i < std::min(told.decisions_size(), kShownDecisions); ++i) {
    const v1::DecisionStory& decision = told.decisions(i);
    std::vector<std::string> values;
    for (int k = 0; k < std::min(decision.values_size(), kShownValues); ++k) {
      const v1::ValueStory& value = decision.values(k);
      values.push_back(
          fmt::format("{}: {} ({} results)", value.value(), Behind(value.best_ns(), told.best_ns()), value.trials()));
    }
    if (decision.values_size() > kShownValues)
      values.push_back(fmt::format("{} more", decision.values_size() - kShownValues));
    text += fmt::format("    {:>5}  {}: {} is best; {}\n", Percent(decision.share()), decision.name(),
                        decision.chosen(), fmt::join(values, ", "));
  }
  return text;
}

std::string RenderNeighbours(const v1::TaskExplanation& told) {
  if (told.neighbours().empty()) return "";
  std::string text = "  one decision away from the best\n";
  for (int i = 0; i < std::min(told.neighbours_size(), kShownNeighbours); ++i) {
    const v1::NeighbourStory& neighbour = told.neighbours(i);
    text += fmt::format("    {:>8}  {}: {} instead of {}\n", Behind(neighbour.median_ns(), told.best_ns()),
                        neighbour.name(), neighbour.other(), neighbour.chosen());
  }
  return text;
}

std::string Indented(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += fmt::format("    {}\n", line);
  return all;
}

Status WriteSvg(const std::string& path, std::span<const v1::TaskExplanation> tasks) {
  std::ofstream file(path);
  file << DrawConvergence(tasks);
  file.close();
  if (file) return OkStatus();
  return FailedPrecondition(fmt::format("write {}: {}; choose another path", path, std::strerror(errno)));
}

}  // namespace

std::string RenderExplanation(const v1::TaskExplanation& told) {
  std::string text =
      fmt::format("{}  {}  {}\n", told.name(), HexOf(told.key().workload()).substr(0, 12), told.key().target());
  text += RenderBest(told) + RenderSearch(told) + RenderRounds(told) + RenderDecisions(told) + RenderNeighbours(told);
  if (!told.best_trace().empty()) text += "  the best schedule\n" + Indented(told.best_trace());
  return text;
}

Status ExplainJob(TuningApi& tuning, int64_t job_id, const ExplainOptions& options) {
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  ASSIGN_OR_RETURN(const v1::GetJobResponse response, tuning.GetJob(request));
  std::vector<v1::TaskExplanation> all;
  for (const v1::Task& task : response.job().tasks()) {
    if (fnmatch(options.tasks.c_str(), task.name().c_str(), 0) != 0) continue;
    v1::ExplainTaskRequest one;
    one.set_task_id(task.id());
    ASSIGN_OR_RETURN(v1::ExplainTaskResponse told, tuning.ExplainTask(one));
    all.push_back(std::move(*told.mutable_explanation()));
  }
  if (all.empty()) {
    return NotFound(fmt::format("explain job {}: no task's name fits \"{}\"; `lathe jobs {}` lists them", job_id,
                                options.tasks, job_id));
  }
  if (options.as_json) {
    nlohmann::ordered_json json = {{"job_id", job_id}, {"tasks", nlohmann::ordered_json::array()}};
    for (const v1::TaskExplanation& told : all) json["tasks"].push_back(ToJson(told));
    PrintJson(json);
  } else {
    for (size_t i = 0; i < all.size(); ++i) std::printf("%s%s", i > 0 ? "\n" : "", RenderExplanation(all[i]).c_str());
  }
  std::fflush(stdout);
  return options.svg.empty() ? OkStatus() : WriteSvg(options.svg, all);
}

}  // namespace lathe
