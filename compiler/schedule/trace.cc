#include "compiler/schedule/trace.h"

#include <fmt/core.h>

#include <algorithm>

#include "compiler/schedule/instruction_signature.h"
#include "compiler/schedule/schedule.h"
#include "support/status_macros.h"

namespace lathe {

void ScheduleTrace::Append(Instruction instruction, std::optional<Decision> decision) {
  Append(std::make_shared<const Instruction>(std::move(instruction)), std::move(decision));
}

void ScheduleTrace::Append(std::shared_ptr<const Instruction> instruction, std::optional<Decision> decision) {
  if (decision) decisions_.insert_or_assign(instructions_.size(), *std::move(decision));
  instructions_.push_back(std::move(instruction));
}

const Decision* ScheduleTrace::decision(size_t i) const {
  const auto found = decisions_.find(i);
  return found == decisions_.end() ? nullptr : &found->second;
}

namespace {

// `input` with the handles' numbers looked up in `ids`; InvalidArgument if nothing produced one.
StatusOr<TraceInput> Translate(TraceInput input, const std::vector<int>& ids) {
  int unknown = -1;
  ForEachHandle(input, [&](int& id) {
    const bool is_known = id >= 0 && id < static_cast<int>(ids.size()) && ids[id] >= 0;
    if (!is_known) unknown = std::max(id, 0);
    if (is_known) id = ids[id];
  });
  if (unknown < 0) return input;
  return InvalidArgument(fmt::format("replay trace: handle {} is used before an instruction makes it", unknown));
}

}  // namespace

bool ChangesNothing(const InstructionKind& kind) {
  return kind.output != '-' && (kind.samples || kind.name.starts_with("Get"));
}

ScheduleTrace ScheduleTrace::Simplified(bool remove_postproc) const {
  size_t end = size();
  for (size_t i = 0; remove_postproc && i < size(); ++i) {
    if (instructions_[i]->kind->name == "EnterPostproc") end = std::min(end, i);
  }
  std::vector<bool> keep(end, false);
  std::vector<bool> used;
  for (size_t i = end; i-- > 0;) {
    const Instruction& instruction = *instructions_[i];
    bool wanted = !ChangesNothing(*instruction.kind);
    for (int id : instruction.outputs) wanted = wanted || (id < static_cast<int>(used.size()) && used[id]);
    if (!wanted) continue;
    keep[i] = true;
    for (TraceInput input : instruction.inputs) {
      ForEachHandle(input, [&](int id) {
        if (id >= static_cast<int>(used.size())) used.resize(id + 1, false);
        used[id] = true;
      });
    }
  }
  ScheduleTrace simple;
  for (size_t i = 0; i < end; ++i) {
    if (!keep[i]) continue;
    if (const Decision* chosen = decision(i)) simple.decisions_.insert_or_assign(simple.size(), *chosen);
    simple.instructions_.push_back(instructions_[i]);
  }
  return simple;
}

namespace {

// What the schedule refuses names its place in the program; what does not fit the instruction gets that in the trace.
Status InReplay(const Status& status, size_t index, const InstructionKind& kind) {
  if (status.code() != StatusCode::kInvalidArgument || status.detail() != nullptr) return status;
  return status.WithContext(fmt::format("replay trace: instruction {} ({})", index, kind.name));
}

// A trace of one function is a trace of it under any name: `tune` knows it by its own, a bare function is "main".
// `changed` owns what is returned where it is not the instruction's own.
std::span<const Attr> AttrsOn(const Schedule& schedule, const Instruction& instruction, std::vector<Attr>& changed) {
  static const InstructionKind* const get_block = FindInstructionKind("GetBlock");
  const PrimFunc* only = instruction.kind == get_block ? schedule.OnlyFunction() : nullptr;
  if (only == nullptr || instruction.attrs.size() != 2 || instruction.attrs[1] == Attr(only->name))
    return instruction.attrs;
  changed = {instruction.attrs[0], only->name};
  return changed;
}

// The handles `names` of a trace are those from `made` on in a schedule.
void NoteHandles(const std::vector<int>& names, const int* made, std::vector<int>& ids) {
  for (const int name : names) {
    if (name >= static_cast<int>(ids.size())) ids.resize(name + 1, -1);
    ids[name] = *made++;
  }
}

}  // namespace

Status ScheduleTrace::Replay(Schedule& schedule) const {
  Progress progress;
  return ReplayTo(size(), schedule, progress);
}

Status ScheduleTrace::ReplayTo(size_t end, Schedule& schedule, Progress& progress) const {
  std::vector<int> ids;  // Handle number here -> handle number in `schedule`.
  ids.reserve(progress.made.size() + 64);
  const int* made = progress.made.data();
  for (size_t i = 0; i < progress.next; made += instructions_[i++]->outputs.size())
    NoteHandles(instructions_[i]->outputs, made, ids);
  std::vector<TraceInput> inputs;
  for (size_t& i = progress.next; i < end; ++i) {
    const Instruction& instruction = *instructions_[i];
    inputs.clear();
    for (const TraceInput& input : instruction.inputs) {
      ASSIGN_OR_RETURN(TraceInput translated, Translate(input, ids));
      inputs.push_back(std::move(translated));
    }
    std::vector<Attr> changed;
    const StatusOr<std::vector<int>> outputs =
        instruction.kind->apply(schedule, inputs, AttrsOn(schedule, instruction, changed), decision(i));
    if (!outputs.ok()) return InReplay(outputs.status(), i, *instruction.kind);
    if (outputs->size() != instruction.outputs.size()) {
      return FailedPrecondition(fmt::format(
          "replay trace: instruction {} ({}) gives {} handles, the trace names {}; it was made for another function", i,
          instruction.kind->name, outputs->size(), instruction.outputs.size()));
    }
    NoteHandles(instruction.outputs, outputs->data(), ids);
    progress.made.insert(progress.made.end(), outputs->begin(), outputs->end());
  }
  return OkStatus();
}

}  // namespace lathe
