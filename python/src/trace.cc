// tir.schedule.Trace and its instructions.
#include "compiler/schedule/trace.h"

#include <fmt/format.h>

#include "compiler/arith/index_map.h"
#include "compiler/import/tvm/tuning_records.h"
#include "compiler/schedule/instruction_signature.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/trace_map.h"
#include "python/src/bind.h"
#include "python/src/cast.h"
#include "python/src/errors.h"
#include "python/src/sampled.h"

namespace lathe::python {
namespace {

// One instruction, of traces or of none; known by its identity.
struct InstructionOf {
  std::shared_ptr<const Instruction> shared;
  const Instruction& get() const { return *shared; }
};

py::object ItemsToPython(const TraceItems& items) {
  py::list list;
  for (const TraceItem& item : items) {
    if (const VarRV* var = std::get_if<VarRV>(&item.value)) list.append(VarOfSampled(var->id));
    if (const Attr* value = std::get_if<Attr>(&item.value)) list.append(ToPython(*value));
    if (const auto* inner = std::get_if<TraceItems>(&item.value)) list.append(ItemsToPython(*inner));
  }
  return MakeArray(list);
}

// With the variables that Python knows the sampled ones by.
py::object MapToPython(const TraceMap& map) {
  VarMap vars;
  for (const auto& [var, sampled] : map.sampled) vars.emplace(var.get(), *UnwrapAs<Expr>(VarOfSampled(sampled.id)));
  return py::cast(std::make_shared<IndexMap>(Substituted(*map, vars)));
}

py::object InputToPython(const TraceInput& input) {
  if (std::holds_alternative<std::monostate>(input)) return py::none();
  return std::visit(
      [](const auto& value) -> py::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>)
          return py::none();
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, VarRV>)
          return VarOfSampled(value.id);
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, TraceItems>)
          return ItemsToPython(value);
        else if constexpr (std::is_same_v<std::decay_t<decltype(value)>, TraceMap>)
          return MapToPython(value);
        else
          return py::cast(value);
      },
      input);
}

py::list Outputs(const Instruction& instruction) {
  py::list handles;
  for (int id : instruction.outputs) {
    if (instruction.kind->output == 'b')
      handles.append(BlockRV{id});
    else if (instruction.kind->output == 'l')
      handles.append(LoopRV{id});
    else
      handles.append(VarOfSampled(id));
  }
  return handles;
}

py::list Instructions(const ScheduleTrace& trace) {
  py::list items;
  for (size_t i = 0; i < trace.size(); ++i) items.append(InstructionOf{trace.shared_instruction(i)});
  return items;
}

py::object DecisionToPython(const Decision& decision) {
  return std::visit([](const auto& value) -> py::object { return py::cast(value); }, decision);
}

// Handles are counted from 0 again, as TVM names them when it writes a trace.
ScheduleTrace Renumbered(const ScheduleTrace& trace) {
  ScheduleTrace result;
  std::map<int, int> numbers;
  for (size_t i = 0; i < trace.size(); ++i) {
    Instruction changed = trace.instruction(i);
    const auto renumber = [&](int& id) { id = numbers.try_emplace(id, int(numbers.size())).first->second; };
    for (TraceInput& input : changed.inputs) ForEachHandle(input, renumber);
    for (int& id : changed.outputs) renumber(id);
    const Decision* decision = trace.decision(i);
    result.Append(std::move(changed), decision != nullptr ? std::optional(*decision) : std::nullopt);
  }
  return result;
}

std::vector<std::string> Lines(const ScheduleTrace& trace) {
  std::vector<std::string> lines;
  const std::string text = Renumbered(trace).ToPython();
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// As TVM shows a trace: a function that applies it.
std::string AsFunction(const ScheduleTrace& trace) {
  std::string text = "# from tvm import tir\ndef apply_trace(sch: tir.Schedule) -> None:\n";
  for (const std::string& line : Lines(trace)) text += fmt::format("  {}\n", line);
  return trace.size() == 0 ? text + "  pass" : text.substr(0, text.size() - 1);
}

// The first `count` instructions with their decisions.
ScheduleTrace Prefix(const ScheduleTrace& trace, size_t count) {
  ScheduleTrace kept;
  for (size_t i = 0; i < count; ++i) {
    const Decision* decision = trace.decision(i);
    kept.Append(trace.shared_instruction(i), decision != nullptr ? std::optional(*decision) : std::nullopt);
  }
  return kept;
}

ScheduleTrace WithoutPostproc(const ScheduleTrace& trace, bool remove) {
  if (!remove) return trace;
  size_t count = 0;
  while (count < trace.size() && trace.instruction(count).kind->name != "EnterPostproc") ++count;
  return Prefix(trace, count);
}

// `trace` with `decision` in the place of what `instruction`, one of its own, has drawn.
ScheduleTrace WithDecision(const ScheduleTrace& trace, const InstructionOf& instruction, const Decision& decision,
                           bool remove_postproc) {
  ScheduleTrace changed = trace;
  size_t at = 0;
  while (at < trace.size() && &trace.instruction(at) != &instruction.get()) ++at;
  if (at == trace.size()) throw Failure(ErrorKind::kTvm, "with_decision: the instruction is not of this trace");
  if (!instruction.get().kind->samples)
    throw Failure(ErrorKind::kTvm, fmt::format("with_decision: {} takes no decision", instruction.get().kind->name));
  changed.SetDecision(at, decision);
  return WithoutPostproc(changed, remove_postproc);
}

// As TVM v0.18 has it in records: "None" for a factor to infer, lists of consumers.
py::object AsJson(const ScheduleTrace& trace, bool remove_postproc) {
  const std::string text =
      ToPlainText(WriteTvmTrace(Renumbered(WithoutPostproc(trace, remove_postproc)), TvmRelease::k0_18));
  return py::module_::import("json").attr("loads")(text);
}

ScheduleTrace FromJson(const py::object& json) {
  const py::object text = py::isinstance<py::str>(json) ? json : py::module_::import("json").attr("dumps")(json);
  return Value(ReadTvmTrace(Value(ParseTvmJson(py::cast<std::string>(text)), ErrorKind::kValue)), ErrorKind::kValue);
}

ScheduleTrace MakeTrace(const std::vector<InstructionOf>& instructions, const py::dict& decisions) {
  ScheduleTrace trace;
  for (const InstructionOf& instruction : instructions) {
    const py::object key = py::cast(instruction);
    std::optional<Decision> decision;
    if (decisions.contains(key)) decision = py::cast<Decision>(decisions[key]);
    trace.Append(instruction.shared, std::move(decision));
  }
  return trace;
}

bool AllAre(py::handle list, bool (*is)(py::handle)) {
  return std::all_of(list.begin(), list.end(), [&](py::handle item) { return is(item); });
}

TraceInput InputOf(py::handle given) {
  if (given.is_none()) return std::monostate();
  if (py::isinstance<BlockRV>(given)) return BlockRV{py::cast<BlockRV>(given).id};
  if (py::isinstance<LoopRV>(given)) return LoopRV{py::cast<LoopRV>(given).id};
  if (const std::optional<VarRV> var = SampledOf(given)) return *var;
  if (py::isinstance<IndexMap>(given)) {
    TraceMap map(py::cast<IndexMap>(given));
    for (const Var& var : FreeVarsOf(*map)) map.sampled.emplace_back(var, *SampledOf(Wrap(Expr(var))));
    return map;
  }
  if (py::isinstance<py::list>(given) && AllAre(given, &py::isinstance<BlockRV>))
    return py::cast<std::vector<BlockRV>>(given);
  if (HoldsSampled(given))
    return ItemsOf(given, [](py::handle item) { return py::reinterpret_borrow<py::object>(item); });
  const std::optional<Attr> attr = ToAttr(given);
  if (!attr) throw Failure(ErrorKind::kType, "Instruction: an input is no handle and no value");
  if (const int64_t* number = std::get_if<int64_t>(&*attr)) return *number;
  if (const std::string* text = std::get_if<std::string>(&*attr)) return *text;
  return *attr;
}

Attr AttrOf(py::handle given) {
  if (py::isinstance<IndexMap>(given)) return std::make_shared<const IndexMap>(py::cast<IndexMap>(given));
  const std::optional<Attr> attr = ToAttr(given);
  if (!attr) throw Failure(ErrorKind::kType, "Instruction: an attribute is no value");
  const bool* flag = std::get_if<bool>(&*attr);
  return flag == nullptr ? *attr : Attr(int64_t{*flag});
}

int OutputOf(py::handle given) {
  if (py::isinstance<BlockRV>(given)) return py::cast<BlockRV>(given).id;
  if (py::isinstance<LoopRV>(given)) return py::cast<LoopRV>(given).id;
  const std::optional<VarRV> var = SampledOf(given);
  if (!var) throw Failure(ErrorKind::kType, "Instruction: an output is no handle of a block, a loop or a number");
  return var->id;
}

py::list InputsOf(const Instruction& call) {
  py::list items;
  for (const TraceInput& input : call.inputs) items.append(InputToPython(input));
  if (!HasListInput(call.kind->name) || items.empty()) return items;
  py::list both;
  both.append(items[0]);
  both.append(MakeArray(py::list(items[py::slice(1, static_cast<py::ssize_t>(items.size()), 1)])));
  return both;
}

InstructionOf MakeInstruction(const InstructionKind& kind, const py::list& inputs, const py::list& attrs,
                              const py::list& outputs) {
  Instruction made{&kind, {}, {}, {}};
  for (const py::handle input : inputs) {
    TraceInput one = InputOf(input);
    const auto* several = std::get_if<std::vector<BlockRV>>(&one);
    if (several != nullptr && HasListInput(kind.name))
      made.inputs.insert(made.inputs.end(), several->begin(), several->end());
    else
      made.inputs.push_back(std::move(one));
  }
  for (const py::handle attr : attrs) made.attrs.push_back(AttrOf(attr));
  for (const py::handle output : outputs) made.outputs.push_back(OutputOf(output));
  return {std::make_shared<const Instruction>(std::move(made))};
}

// Takes the last instruction off; None if there is none.
py::object Pop(ScheduleTrace& trace) {
  if (trace.size() == 0) return py::none();
  const py::list all = Instructions(trace);
  trace = Prefix(trace, trace.size() - 1);
  return all[all.size() - 1];
}

void BindInstruction(py::module_& module) {
  py::class_<InstructionKind, std::unique_ptr<InstructionKind, py::nodelete>>(module, "InstructionKind")
      .def_property_readonly("name", [](const InstructionKind& kind) { return kind.name; })
      .def_property_readonly("is_pure", [](const InstructionKind& kind) { return ChangesNothing(kind); })
      .def("__eq__", [](const InstructionKind& a, const InstructionKind& b) { return &a == &b; })
      .def("__hash__", [](const InstructionKind& kind) { return std::hash<const void*>()(&kind); })
      .def("same_as", [](const InstructionKind& a, const InstructionKind& b) { return &a == &b; })
      .def_static("get", [](const std::string& name) {
        const InstructionKind* kind = FindInstructionKind(name);
        if (kind == nullptr)
          throw Failure(ErrorKind::kOperation, fmt::format("no instruction kind is named \"{}\"", name));
        return std::unique_ptr<InstructionKind, py::nodelete>(const_cast<InstructionKind*>(kind));
      });
  py::class_<InstructionOf>(module, "Instruction")
      .def(py::init(&MakeInstruction), py::arg("kind"), py::arg("inputs"), py::arg("attrs"), py::arg("outputs"))
      .def_property_readonly(
          "kind",
          [](const InstructionOf& i) {
            return std::unique_ptr<InstructionKind, py::nodelete>(const_cast<InstructionKind*>(i.get().kind));
          })
      .def_property_readonly("inputs", [](const InstructionOf& i) { return MakeArray(InputsOf(i.get())); })
      .def_property_readonly("attrs", [](const InstructionOf& i) { return ToPython(Attr(i.get().attrs)); })
      .def_property_readonly("outputs", [](const InstructionOf& i) { return MakeArray(Outputs(i.get())); })
      .def("__eq__", [](const InstructionOf& a, const InstructionOf& b) { return &a.get() == &b.get(); })
      .def("same_as", [](const InstructionOf& a, const InstructionOf& b) { return &a.get() == &b.get(); })
      .def("__hash__", [](const InstructionOf& i) { return std::hash<const void*>()(&i.get()); })
      .def("__str__", [](const InstructionOf& i) { return ToPythonAlone(i.get()); })
      .def("__repr__", [](const InstructionOf& i) { return ToPythonAlone(i.get()); });
}

}  // namespace

void BindTrace(py::module_& module) {
  BindInstruction(module);
  py::class_<ScheduleTrace>(module, "Trace")
      .def(py::init(&MakeTrace), py::arg("insts"), py::arg("decisions"))
      .def(
          "append",
          [](ScheduleTrace& trace, const InstructionOf& instruction, std::optional<Decision> decision) {
            trace.Append(instruction.shared, std::move(decision));
          },
          py::arg("inst"), py::arg("decision") = py::none())
      .def("pop", &Pop)
      .def_property_readonly("insts", &Instructions)
      .def_property_readonly("decisions",
                             [](const ScheduleTrace& trace) {
                               py::dict decisions;
                               const py::list instructions = Instructions(trace);
                               for (const auto& [index, decision] : trace.decisions())
                                 decisions[instructions[index]] = DecisionToPython(decision);
                               return MakeMap(decisions);
                             })
      .def("get_decision",
           [](const ScheduleTrace& trace, const InstructionOf& instruction) -> py::object {
             for (const auto& [index, decision] : trace.decisions())
               if (&trace.instruction(index) == &instruction.get()) return DecisionToPython(decision);
             return py::none();
           })
      .def("with_decision", &WithDecision, py::arg("inst"), py::arg("decision"), py::arg("remove_postproc"))
      .def(
          "simplified",
          [](const ScheduleTrace& trace, bool remove_postproc) {
            return Renumbered(trace.Simplified(remove_postproc));
          },
          py::arg("remove_postproc"))
      .def(
          "apply_to_schedule",
          [](const ScheduleTrace& trace, Schedule& schedule, bool remove_postproc, const py::object& provider) {
            if (!provider.is_none()) throw Failure(ErrorKind::kTvm, "apply_to_schedule: no decision provider is taken");
            Check(WithoutPostproc(trace, remove_postproc).Replay(schedule), ErrorKind::kSchedule);
          },
          py::arg("sch"), py::arg("remove_postproc") = false, py::arg("decision_provider") = py::none())
      .def("as_json", &AsJson, py::arg("remove_postproc") = false)
      .def(
          "as_python",
          [](const ScheduleTrace& trace, bool remove_postproc) {
            return Lines(WithoutPostproc(trace, remove_postproc));
          },
          py::arg("remove_postproc") = false)
      .def_static(
          "apply_json_to_schedule",
          [](const py::object& json, Schedule& schedule) {
            Check(FromJson(json).Replay(schedule), ErrorKind::kSchedule);
          },
          py::arg("json_obj"), py::arg("sch"))
      .def("__str__", &AsFunction)
      .def("__repr__", &AsFunction)
      .def("show",
           [](const ScheduleTrace& trace, const py::args&, const py::kwargs&) { py::print(AsFunction(trace)); });
}

}  // namespace lathe::python
