// The replayable record of a schedule: primitive calls in order, and the decisions of those that sample.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/ir/attr.h"
#include "support/random.h"
#include "support/status.h"

namespace lathe {

class Schedule;

// Handles, valid in the one Schedule that made them. All kinds share one numbering, in order of production.
// `origin`: which of the copies of a schedule made it, where that was asked for (Schedule::Diverge); 0: any.
struct BlockRV {
  int id = -1;
  uint32_t origin = 0;
  bool operator==(const BlockRV& other) const { return id == other.id; }
};
struct LoopRV {
  int id = -1;
  uint32_t origin = 0;
  bool operator==(const LoopRV& other) const { return id == other.id; }
};
struct VarRV {
  int id = -1;
  bool operator==(const VarRV&) const = default;
};  // A sampled integer.
using ExprRV = std::variant<int64_t, VarRV, Expr>;  // A literal, a sampled variable, or a multiple of T.vscale().

// An element of a list in which sampled variables stand among other values.
struct TraceItem {
  std::variant<VarRV, Attr, std::vector<TraceItem>> value;
};
using TraceItems = std::vector<TraceItem>;

// An index map, and which of its free variables are sampled ones (trace_map.h).
struct TraceMap {
  std::shared_ptr<const IndexMap> map;
  std::vector<std::pair<Var, VarRV>> sampled = {};
  TraceMap(const IndexMap& index_map);  // NOLINT: stands for the map
  explicit TraceMap(std::shared_ptr<const IndexMap> index_map) : map(std::move(index_map)) {}
  const IndexMap& operator*() const { return *map; }
};

// What a primitive was given. nullopt in TVM's JSON is null: "infer this factor". An Attr is a value that none of
// the others is: a real, a list of mixed values, a map, an expression.
using TraceInput = std::variant<std::monostate, BlockRV, LoopRV, VarRV, int64_t, std::string, std::vector<int64_t>,
                                std::vector<BlockRV>, TraceMap, Attr, TraceItems>;
// A factor, or one to infer, as an instruction keeps it.
inline TraceInput FactorInput(const std::optional<ExprRV>& factor) {
  if (!factor) return std::monostate();
  if (const int64_t* literal = std::get_if<int64_t>(&*factor)) return *literal;
  if (const Expr* e = std::get_if<Expr>(&*factor)) return Attr(*e);
  return std::get<VarRV>(*factor);
}
template <typename F>
void ForEachHandle(TraceItems& items, const F& f) {
  for (TraceItem& item : items) {
    if (auto* var = std::get_if<VarRV>(&item.value)) f(var->id);
    if (auto* inner = std::get_if<TraceItems>(&item.value)) ForEachHandle(*inner, f);
  }
}
// Calls f(int& id) for each handle in `input`.
template <typename F>
void ForEachHandle(TraceInput& input, F f) {
  if (auto* block = std::get_if<BlockRV>(&input)) f(block->id);
  if (auto* loop = std::get_if<LoopRV>(&input)) f(loop->id);
  if (auto* var = std::get_if<VarRV>(&input)) f(var->id);
  if (auto* blocks = std::get_if<std::vector<BlockRV>>(&input))
    for (BlockRV& block : *blocks) f(block.id);
  if (auto* items = std::get_if<TraceItems>(&input)) ForEachHandle(*items, f);
  if (auto* map = std::get_if<TraceMap>(&input))
    for (auto& [var, sampled] : map->sampled) f(sampled.id);
}
// What a sampling primitive chose: tile factors, or the index of a category.
using Decision = std::variant<int64_t, std::vector<int64_t>>;

inline constexpr int kMaxHandles = 1 << 16;  // More than any real trace; keeps a hostile one small.

// A row of the table of primitives (compiler/schedule/instruction_kinds.cc).
struct InstructionKind {
  std::string_view name;  // TVM's, e.g. "Split".
  bool samples;           // Takes a decision.
  char output;            // 'b', 'l', 'v' or '-': the kind of handle that it returns.
  // Runs the primitive; `decision` is nullptr or what to take instead of a fresh draw. Returns the ids of the handles
  // made.
  StatusOr<std::vector<int>> (*apply)(Schedule& schedule, std::span<const TraceInput> inputs,
                                      std::span<const Attr> attrs, const Decision* decision);
};
const InstructionKind* FindInstructionKind(std::string_view name);  // nullptr if there is none.
std::span<const InstructionKind> InstructionKinds();

struct Instruction {
  const InstructionKind* kind;
  std::vector<TraceInput> inputs;
  std::vector<Attr> attrs;
  std::vector<int> outputs;  // Ids of handles.
};

// How index maps stand in the JSON of a trace: as their text, or as others write them.
struct MapForm {
  std::function<std::string(const TraceMap& map)> write;
  std::function<StatusOr<std::optional<IndexMap>>(const std::string& text)> read;  // nullopt: the text is of none.
};
const MapForm& MapsAsText();

class ScheduleTrace {
 public:
  void Append(Instruction instruction, std::optional<Decision> decision = std::nullopt);
  void Append(std::shared_ptr<const Instruction> instruction, std::optional<Decision> decision);
  size_t size() const { return instructions_.size(); }
  const Instruction& instruction(size_t i) const { return *instructions_[i]; }
  const std::shared_ptr<const Instruction>& shared_instruction(size_t i) const { return instructions_[i]; }
  const std::map<size_t, Decision>& decisions() const { return decisions_; }
  const Decision* decision(size_t i) const;
  // Instruction `i` samples. Everything computed from it follows at the next replay, since instructions keep variables,
  // not values.
  void SetDecision(size_t i, Decision decision) { decisions_.insert_or_assign(i, std::move(decision)); }
  void ClearDecisions() { decisions_.clear(); }

  // Without the instructions whose results nobody uses and that change nothing (GetBlock, GetLoops, Sample..., as TVM's
  // simplified()), and without what follows EnterPostproc if `remove_postproc`.
  ScheduleTrace Simplified(bool remove_postproc) const;

  // Runs the trace on a fresh schedule. Instructions that sample take their stored decision, or else draw from the
  // schedule's seed. On error the schedule holds what was done so far.
  Status Replay(Schedule& schedule) const;
  // How far a replay has come.
  struct Progress {
    size_t next = 0;        // The instruction that is run next.
    std::vector<int> made;  // The handles that those before it returned, as the schedule numbers them.
  };
  // The instructions from `progress` up to `end`, on a schedule that has had the ones before. A copy of both goes on
  // from there, with this trace or with another of the same instructions.
  Status ReplayTo(size_t end, Schedule& schedule, Progress& progress) const;

  // TVM's layout: [[kind, inputs, attributes, outputs]..., then [[index, decision]...]. Compact, one line; stable for
  // equal traces.
  std::string ToJson(const MapForm& maps = MapsAsText()) const;
  static StatusOr<ScheduleTrace> FromJson(std::string_view text, const MapForm& maps = MapsAsText());
  // The calls in Python, one a line: b0 = sch.get_block(name="C", func_name="main").
  std::string ToPython() const;
  // Reads such lines back. Arguments may be named or positional; what is left out has TVM's default. Errors name the
  // line.
  static StatusOr<ScheduleTrace> FromPython(std::string_view text);

 private:
  std::vector<std::shared_ptr<const Instruction>> instructions_;  // Shared between copies, never changed.
  std::map<size_t, Decision> decisions_;
};

// Traces as Python functions, one for each PrimFunc and named like it: `def matmul(sch):`, then the calls of ToPython,
// indented; `pass` where there are none. Errors name the line.
std::string ToPythonFunction(std::string_view name, const ScheduleTrace& trace);
StatusOr<std::map<std::string, ScheduleTrace>> TracesFromPython(std::string_view text);

// One call by itself, as TVM prints an instruction: `_ = sch.get_block(name=C, func_name=main)`. Its handles have no
// names, its decision is not its own.
std::string ToPythonAlone(Instruction instruction);

}  // namespace lathe
