#include "tests/compiler/random_schedule/scheduled_program.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower.h"
#include "compiler/script/printer.h"
#include "tests/compiler/random_schedule/random_primitive.h"

namespace lathe {
namespace {

bool IsTransforming(std::string_view kind) {
  for (const PrimitiveCase& one : PrimitiveCases()) {
    if (one.kind == kind) return one.is_transforming;
  }
  return false;
}

}  // namespace

ScheduledProgram MakeScheduledProgram(uint64_t seed, int num_calls) {
  RandomProgram program = MakeRandomProgram(seed);
  StatusOr<Schedule> schedule = Schedule::Create(program.func, seed);
  CHECK(schedule.ok()) << schedule.status().ToString();
  ScheduledProgram result{std::move(program), *std::move(schedule)};
  Random random(seed + 1);
  for (int i = 0; i < num_calls; ++i) {
    const PrimitiveOutcome outcome = ApplyRandomPrimitive(result.schedule, random);
    if (outcome.was_changed_by_refusal || !outcome.inconsistency.empty()) {
      result.refusal = {"refusal", fmt::format("{} left the schedule changed or inconsistent: {} {}", outcome.kind,
                                               outcome.status.message(), outcome.inconsistency)};
      break;
    }
    if (outcome.kind.empty() || !outcome.status.ok()) continue;
    ++result.accepted[outcome.kind];
    result.num_transformed += IsTransforming(outcome.kind);
  }
  return result;
}

Schedule ReplayWhatFits(const PrimFunc& func, const ScheduleTrace& trace) {
  Schedule schedule = *Schedule::Create(func, 0);
  std::map<int, int> handles;  // From the trace's numbers to those of the new schedule.
  const auto map_input = [&](TraceInput& input) {
    bool is_known = true;
    ForEachHandle(input, [&](int& id) {
      const auto found = handles.find(id);
      is_known = is_known && found != handles.end();
      if (found != handles.end()) id = found->second;
    });
    return is_known;
  };
  for (size_t i = 0; i < trace.size(); ++i) {
    const Instruction& instruction = trace.instruction(i);
    std::vector<TraceInput> inputs = instruction.inputs;
    bool is_complete = true;
    for (TraceInput& input : inputs) is_complete = map_input(input) && is_complete;
    if (!is_complete) continue;
    const StatusOr<std::vector<int>> outputs =
        instruction.kind->apply(schedule, inputs, instruction.attrs, trace.decision(i));
    if (!outputs.ok()) continue;
    for (size_t k = 0; k < std::min(outputs->size(), instruction.outputs.size()); ++k)
      handles[instruction.outputs[k]] = (*outputs)[k];
  }
  return schedule;
}

std::vector<Expectation> Expect(const RandomProgram& program, uint64_t seed) {
  std::vector<Expectation> expectations;
  std::vector<int64_t> symbols = {int64_t(2 + seed % 8)};
  if (program.is_symbolic) symbols.push_back(1);
  for (const int64_t symbol : symbols) {
    Expectation one{symbol, MakeArguments(program, Random(seed + 2), symbol)};
    one.results = one.arguments;
    if (!Interpret(program.func, one.results).ok()) return {};
    expectations.push_back(std::move(one));
  }
  return expectations;
}

std::string DescribeDifference(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(actual[i].data.data(), expected[i].data.data(), expected[i].data.size()) == 0) continue;
    const std::vector<double> a = actual[i].ToDoubles(), b = expected[i].ToDoubles();
    for (size_t k = 0; k < b.size(); ++k) {
      if (a[k] == b[k] || (std::isnan(a[k]) && std::isnan(b[k]))) continue;
      return fmt::format("parameter {}, element {}: {}, expected {}", i, k, a[k], b[k]);
    }
  }
  return "";
}

// A thousand times what these programs take. What a producer that is computed again and again makes of one may take
// longer still: nothing is said of it.
constexpr int64_t kMostSteps = int64_t{1} << 24;

Finding Compare(const PrimFunc& func, const std::vector<Expectation>& expectations, const char* stage,
                bool check_races) {
  const StatusOr<InterpretedFunc> compiled = InterpretedFunc::Compile(func);
  if (!compiled.ok()) return {stage, compiled.status().message()};
  for (const Expectation& one : expectations) {
    std::vector<Tensor> arguments = one.arguments;
    const Status status = compiled->Run(arguments, {.check_races = check_races, .max_steps = kMostSteps});
    if (status.code() == StatusCode::kDeadlineExceeded) continue;
    if (!status.ok()) return {stage, fmt::format("n = {}: {}", one.symbol, status.message())};
    if (const std::string difference = DescribeDifference(arguments, one.results); !difference.empty())
      return {stage, fmt::format("n = {}: {}", one.symbol, difference)};
  }
  return {};
}

namespace {

// Without threads and memory of several dimensions, which a CPU lacks: one thread after the other gives the same, since
// whatever one thread needs of another has been made in a kernel before.
class ForCpu : public StmtExprMutator {
 public:
  PrimFunc operator()(PrimFunc func) {
    for (ParamBuffer& entry : func.buffer_map) entry.buffer = InOneDimension(entry.buffer);
    func.body = VisitStmt(func.body);
    return func;
  }

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    if (loop.kind != ForKind::kThreadBinding) return visited;
    For serial = *visited.As<For>();
    serial.kind = ForKind::kSerial;
    serial.thread.clear();
    return serial;
  }
  Buffer VisitBufferDef(const Buffer& buffer) override { return InOneDimension(buffer); }
  Buffer VisitBufferUse(const Buffer& buffer) override { return InOneDimension(buffer); }

 private:
  Buffer InOneDimension(const Buffer& buffer) {
    if (buffer->axis_separators.empty()) return buffer;
    const auto [known, is_new] = flat_.try_emplace(buffer.get(), buffer);
    if (is_new) {
      BufferNode node = *buffer;
      node.axis_separators.clear();
      known->second = Buffer(std::move(node));
    }
    return known->second;
  }
  BufferMap flat_;
};

}  // namespace

Finding CheckBySteps(const PrimFunc& scheduled, const std::vector<Expectation>& expectations, PrimFunc* lowered) {
  const PrimFunc func = ForCpu()(scheduled);
  // A buffer that each iteration of a parallel loop uses for itself stands outside of the loop until allocations are
  // put where they belong: races show from there on.
  Finding finding = Compare(func, expectations, "scheduled", /*check_races=*/false);
  if (finding.is_fault()) return finding;
  const StatusOr<PrimFunc> placed = RunPass("plan_and_update_buffer_allocation_location", func);
  if (!placed.ok()) return {"lowering", placed.status().message()};
  finding = Compare(*placed, expectations, "races");
  if (finding.is_fault()) return finding;
  StatusOr<PrimFunc> low = Lower(func);
  if (!low.ok()) return {"lowering", low.status().message()};
  if (lowered != nullptr) *lowered = *low;
  return Compare(*low, expectations, "lowered");
}

namespace {

Finding CheckReplay(const RandomProgram& program, const Schedule& schedule, const StatusOr<ScheduleTrace>& trace,
                    const char* form) {
  if (!trace.ok()) return {"replay", fmt::format("{} is not read back: {}", form, trace.status().message())};
  StatusOr<Schedule> again = Schedule::Create(program.func, 77);
  const Status replayed = trace->Replay(*again);
  if (!replayed.ok()) return {"replay", fmt::format("from {}: {}", form, replayed.message())};
  if (StructuralEqual(again->func(), schedule.func())) return {};
  return {"replay", fmt::format("from {} another function comes out:\n{}", form, Print(again->func()))};
}

}  // namespace

Finding CheckTrace(const RandomProgram& program, const Schedule& schedule) {
  const Finding json = CheckReplay(program, schedule, ScheduleTrace::FromJson(schedule.trace().ToJson()), "JSON");
  if (json.is_fault()) return json;
  return CheckReplay(program, schedule, ScheduleTrace::FromPython(schedule.trace().ToPython()), "Python");
}

}  // namespace lathe
