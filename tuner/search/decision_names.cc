#include "tuner/search/decision_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "tuner/search/decisions.h"

namespace lathe {
namespace {

using Tile = std::vector<int64_t>;

// The state in which instruction `index` of `trace` runs; nullopt if that cannot be reached.
std::optional<Schedule> StateBefore(const Schedule& unscheduled, const ScheduleTrace& trace, size_t index) {
  ScheduleTrace head;
  for (size_t i = 0; i < index; ++i) {
    const Decision* decision = trace.decision(i);
    head.Append(trace.shared_instruction(i), decision == nullptr ? std::nullopt : std::optional(*decision));
  }
  Schedule schedule = unscheduled;
  if (!head.Replay(schedule).ok() || schedule.trace().size() != index) return std::nullopt;
  return schedule;
}

// The handle that `state`, a replay of the first instructions of `trace`, has for handle `id` of the trace.
int HandleIn(const Schedule& state, const ScheduleTrace& trace, int id) {
  for (size_t i = 0; i < state.trace().size(); ++i) {
    const std::vector<int>& outputs = trace.instruction(i).outputs;
    const auto found = std::find(outputs.begin(), outputs.end(), id);
    if (found == outputs.end()) continue;
    const std::vector<int>& here = state.trace().instruction(i).outputs;
    return here.size() == outputs.size() ? here[static_cast<size_t>(found - outputs.begin())] : -1;
  }
  return -1;
}

// The first block below a row, in order of the text.
std::string BlockBelow(const Schedule& schedule, int row) {
  while (schedule.IsLoop(row)) {
    const std::vector<int> children = schedule.ChildRowsOf(row);
    if (children.empty()) return "";
    row = children.front();
  }
  return schedule.BlockOf(row).name;
}

std::string NameOfTile(const Schedule& state, const ScheduleTrace& trace, const Instruction& instruction) {
  const LoopRV* loop = instruction.inputs.empty() ? nullptr : std::get_if<LoopRV>(&instruction.inputs[0]);
  if (loop == nullptr) return "tile";
  const LoopRV here{HandleIn(state, trace, loop->id)};
  const StatusOr<const For*> node = state.Get(here);
  const StatusOr<int> row = state.RowOf(here);
  if (!node.ok() || !row.ok()) return "tile";
  return fmt::format("tile of loop \"{}\" of \"{}\"", (*node)->loop_var.name(), BlockBelow(state, *row));
}

std::string NameOfLocation(const Schedule& state, const ScheduleTrace& trace, const Instruction& instruction) {
  const BlockRV* block = instruction.inputs.empty() ? nullptr : std::get_if<BlockRV>(&instruction.inputs[0]);
  if (block == nullptr) return "place of computation";
  const StatusOr<const BlockRealize*> node = state.Get(BlockRV{HandleIn(state, trace, block->id)});
  return node.ok() ? fmt::format("where \"{}\" is computed", (*node)->block->name) : "place of computation";
}

// By what uses it first.
std::string NameOfCategory(const ScheduleTrace& trace, size_t index) {
  const std::vector<int>& outputs = trace.instruction(index).outputs;
  for (size_t i = index + 1; i < trace.size(); ++i) {
    const Instruction& user = trace.instruction(i);
    const bool uses = std::any_of(user.inputs.begin(), user.inputs.end(), [&](const TraceInput& input) {
      const VarRV* var = std::get_if<VarRV>(&input);
      return var != nullptr && std::find(outputs.begin(), outputs.end(), var->id) != outputs.end();
    });
    if (!uses) continue;
    const std::string* key = user.attrs.empty() ? nullptr : std::get_if<std::string>(&user.attrs[0]);
    return key == nullptr ? fmt::format("argument of {}", user.kind->name) : fmt::format("annotation \"{}\"", *key);
  }
  return "category";
}

// What a template calls the decision of instruction `index`: it annotates a block with "knob.NAME" and what was
// sampled.
std::optional<std::string> NameOfKnob(const ScheduleTrace& trace, size_t index) {
  constexpr std::string_view kPrefix = "knob.";
  if (index + 1 >= trace.size()) return std::nullopt;
  const Instruction& next = trace.instruction(index + 1);
  const std::string* key = next.attrs.empty() ? nullptr : std::get_if<std::string>(&next.attrs[0]);
  if (key == nullptr || !key->starts_with(kPrefix)) return std::nullopt;
  return fmt::format("knob \"{}\"", key->substr(kPrefix.size()));
}

// Ordered factorisations of `extent` into `parts`, the last at most `limit`.
double CountTiles(int64_t extent, size_t parts, int64_t limit) {
  if (parts <= 1) return extent <= limit ? 1 : 0;
  double count = 0;
  for (int64_t divisor = 1; divisor * divisor <= extent; ++divisor) {
    if (extent % divisor != 0) continue;
    count += CountTiles(extent / divisor, parts - 1, limit);
    if (divisor * divisor != extent) count += CountTiles(divisor, parts - 1, limit);
  }
  return count;
}

}  // namespace

std::map<size_t, std::string> NameDecisions(const TuneTask& task, const ScheduleTrace& trace) {
  std::map<size_t, std::string> names;
  const StatusOr<Schedule> unscheduled = Schedule::Create(task.func);
  for (size_t i = 0; i < trace.size(); ++i) {
    const Instruction& instruction = trace.instruction(i);
    if (!instruction.kind->samples) continue;
    names[i] = instruction.kind->name;
    if (const std::optional<std::string> knob = NameOfKnob(trace, i)) {
      names[i] = *knob;
      continue;
    }
    if (instruction.kind->name == "SampleCategorical") {
      names[i] = NameOfCategory(trace, i);
      continue;
    }
    const std::optional<Schedule> state = unscheduled.ok() ? StateBefore(*unscheduled, trace, i) : std::nullopt;
    if (!state) continue;
    names[i] = instruction.kind->name == "SampleComputeLocation" ? NameOfLocation(*state, trace, instruction)
                                                                 : NameOfTile(*state, trace, instruction);
  }
  return names;
}

std::string DecisionText(const ScheduleTrace& trace, size_t index) {
  const Decision* decision = trace.decision(index);
  if (decision == nullptr) return "-";
  if (const Tile* tile = std::get_if<Tile>(decision)) return fmt::format("[{}]", fmt::join(*tile, ", "));
  const int64_t choice = std::get<int64_t>(*decision);
  const Instruction& instruction = trace.instruction(index);
  const auto* candidates = instruction.attrs.empty() ? nullptr : std::get_if<std::vector<Attr>>(&instruction.attrs[0]);
  if (candidates != nullptr && choice >= 0 && static_cast<size_t>(choice) < candidates->size()) {
    if (const int64_t* value = std::get_if<int64_t>(&(*candidates)[static_cast<size_t>(choice)]))
      return std::to_string(*value);
  }
  return std::to_string(choice);
}

double CountChoices(const ScheduleTrace& trace) {
  double count = 1;
  for (const auto& [index, decision] : trace.decisions()) {
    const Instruction& instruction = trace.instruction(index);
    if (const Tile* tile = std::get_if<Tile>(&decision)) {
      int64_t extent = 1;
      for (const int64_t factor : *tile) extent *= factor;
      count *= std::max(1.0, CountTiles(extent, tile->size(), InnermostLimit(instruction)));
    } else {
      count *= static_cast<double>(std::max<int64_t>(1, CategoryCount(instruction)));
    }
  }
  return count;
}

}  // namespace lathe
