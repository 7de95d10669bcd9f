// ScheduleTrace to and from the Python calls that people write by hand.
#include <fmt/format.h>

#include <sstream>
#include <unordered_map>

#include "compiler/schedule/instruction_signature.h"
#include "compiler/schedule/trace_map.h"
#include "compiler/script/expr_builder.h"
#include "compiler/script/expr_printer.h"
#include "compiler/script/index_map_text.h"
#include "compiler/script/printer.h"
#include "compiler/script/python_ast.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// ---- Writing ----------------------------------------------------------------------------------------------------

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string Write(const Attr& attr) {
  if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) {
    std::vector<std::string> items;
    for (const Attr& item : *list) items.push_back(Write(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (const int64_t* number = std::get_if<int64_t>(&attr)) return fmt::format("{}", *number);
  if (const double* real = std::get_if<double>(&attr)) return PrintFloatAsTvm(*real);
  if (const bool* flag = std::get_if<bool>(&attr)) return *flag ? "True" : "False";
  if (const Expr* e = std::get_if<Expr>(&attr)) return Print(*e);
  if (const auto* map = std::get_if<AttrMap>(&attr)) {
    std::vector<std::string> items;
    for (const auto& [key, value] : *map) items.push_back(fmt::format("{}: {}", Quote(key), Write(value)));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  const auto* text = std::get_if<std::string>(&attr);
  return text == nullptr ? "None" : Quote(*text);
}

// Below 0: a handle without a name.
std::string HandleText(char kind, int id) { return id < 0 ? "_" : fmt::format("{}{}", kind, id); }

std::string Write(const TraceItems& items) {
  std::vector<std::string> texts;
  for (const TraceItem& item : items) {
    if (const auto* var = std::get_if<VarRV>(&item.value)) texts.push_back(HandleText('v', var->id));
    if (const Attr* value = std::get_if<Attr>(&item.value)) texts.push_back(Write(*value));
    if (const auto* inner = std::get_if<TraceItems>(&item.value)) texts.push_back(Write(*inner));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string Write(std::span<const TraceInput> inputs);

std::string Write(const TraceInput& input) {
  if (const auto* block = std::get_if<BlockRV>(&input)) return HandleText('b', block->id);
  if (const auto* loop = std::get_if<LoopRV>(&input)) return HandleText('l', loop->id);
  if (const auto* var = std::get_if<VarRV>(&input)) return HandleText('v', var->id);
  if (const int64_t* number = std::get_if<int64_t>(&input)) return fmt::format("{}", *number);
  if (const std::string* text = std::get_if<std::string>(&input)) return Quote(*text);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&input)) return fmt::format("[{}]", fmt::join(*list, ", "));
  if (const auto* map = std::get_if<TraceMap>(&input)) return Print(WithNames(*map));
  if (const Attr* value = std::get_if<Attr>(&input)) return Write(*value);
  if (const auto* items = std::get_if<TraceItems>(&input)) return Write(*items);
  if (const auto* blocks = std::get_if<std::vector<BlockRV>>(&input)) {
    const std::vector<TraceInput> items(blocks->begin(), blocks->end());
    return fmt::format("[{}]", Write(std::span(items)));
  }
  return "None";
}

std::string Write(std::span<const TraceInput> inputs) {
  std::vector<std::string> items;
  for (const TraceInput& input : inputs) items.push_back(Write(input));
  return fmt::format("{}", fmt::join(items, ", "));
}

// ("read", 0)
std::string WriteBuffer(const Attr& index, const Attr& side) {
  return fmt::format("(\"{}\", {})", side == Attr(int64_t{0}) ? "read" : "write", Write(index));
}

// An index map among attributes; None if there is none.
std::string TextOf(std::span<const Attr> attrs, size_t i) {
  const auto* map = i < attrs.size() ? std::get_if<std::shared_ptr<const IndexMap>>(&attrs[i]) : nullptr;
  return map == nullptr ? "None" : Print(**map);
}

std::string WriteRanges(const TraceInput& input) {
  const auto* map = std::get_if<TraceMap>(&input);
  return map == nullptr ? Write(input) : PrintRanges(WithNames(*map));
}

std::string WriteInput(Keep keep, const TraceInput& input) {
  if (keep == Keep::kRanges) return WriteRanges(input);
  const int64_t* side = keep == Keep::kSide ? std::get_if<int64_t>(&input) : nullptr;
  return side == nullptr ? Write(input) : *side == 0 ? "\"read\"" : "\"write\"";
}

// `quotes`: around text of attributes.
std::string WriteArguments(const Signature& signature, const Instruction& instruction, const Decision* decision,
                           bool quotes) {
  std::span<const TraceInput> inputs(instruction.inputs);
  size_t attr = 0;
  std::vector<std::string> parts;
  for (const Argument& argument : signature.arguments) {
    std::string text;
    switch (argument.keep) {
      case Keep::kBlock:
      case Keep::kBlockOrLoop:
      case Keep::kLoop:
      case Keep::kInput:
      case Keep::kItems:
      case Keep::kIndexMap:
      case Keep::kSide:
      case Keep::kRanges:
        text = inputs.empty() ? "None" : WriteInput(argument.keep, inputs[0]);
        if (!inputs.empty()) inputs = inputs.subspan(1);
        break;
      case Keep::kInputs:
        text = fmt::format("[{}]", Write(inputs));
        inputs = {};
        break;
      case Keep::kStar:
        parts.push_back(Write(inputs));
        inputs = {};
        continue;
      case Keep::kAttr:
      case Keep::kReadIndex:
      case Keep::kWriteIndex:
      case Keep::kFlag:
        if (attr >= instruction.attrs.size()) {
          text = argument.fallback;
        } else {
          const Attr& given = instruction.attrs[attr++];
          const std::string* plain = quotes ? nullptr : std::get_if<std::string>(&given);
          text = plain != nullptr ? *plain : Write(given);
          if (argument.keep == Keep::kFlag) text = text == "0" || text == "False" ? "False" : "True";
        }
        break;
      case Keep::kMapAttr:
        text = TextOf(instruction.attrs, attr++);
        break;
      case Keep::kBuffer:
        text = attr + 1 < instruction.attrs.size() ? WriteBuffer(instruction.attrs[attr], instruction.attrs[attr + 1])
                                                   : "None";
        attr += 2;
        break;
      case Keep::kDecision:
        if (decision == nullptr) continue;
        if (const int64_t* number = std::get_if<int64_t>(decision))
          text = fmt::format("{}", *number);
        else
          text = fmt::format("[{}]", fmt::join(std::get<std::vector<int64_t>>(*decision), ", "));
        break;
    }
    if (argument.keep == Keep::kInputs && text == argument.fallback) continue;
    const std::string_view name = argument.in_traces.empty() ? argument.name : argument.in_traces;
    parts.push_back(argument.is_bare ? text : fmt::format("{}={}", name, text));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// b0 = sch.get_block(name="C", func_name="main")
std::string WriteCall(const Instruction& instruction, const Decision* decision, bool quotes) {
  const Signature* signature = FindSignature(instruction.kind->name);
  CHECK(signature != nullptr) << "no Python signature for " << instruction.kind->name;
  std::vector<std::string> outputs;
  for (int id : instruction.outputs) outputs.push_back(HandleText(instruction.kind->output, id));
  const bool is_list = signature->returns_list && outputs.size() == 1;
  const std::string made = outputs.empty() ? "" : fmt::format("{}{} = ", fmt::join(outputs, ", "), is_list ? "," : "");
  return fmt::format("{}sch.{}({})", made, SnakeCase(instruction.kind->name),
                     WriteArguments(*signature, instruction, decision, quotes));
}

// ---- Reading ----------------------------------------------------------------------------------------------------

class PythonReader {
 public:
  explicit PythonReader(const Source& source) : source_(source) {}

  StatusOr<ScheduleTrace> Read(std::span<const PyStmt* const> calls) {
    for (const PyStmt* stmt : calls)
      if (stmt->kind != PyStmtKind::kPass) RETURN_IF_ERROR(ReadCall(*stmt));
    return std::move(trace_);
  }

 private:
  Status Error(uint32_t offset, std::string_view what) const { return ErrorAt(source_, offset, what); }

  Status ReadCall(const PyStmt& stmt) {
    const bool is_call = (stmt.kind == PyStmtKind::kExpr || stmt.kind == PyStmtKind::kAssign) &&
                         stmt.value != nullptr && stmt.value->kind == PyExprKind::kCall &&
                         stmt.value->items[0]->kind == PyExprKind::kAttribute;
    if (!is_call)
      return Error(stmt.offset, "a call such as l0, l1 = sch.split(loop=l2, factors=[None, 16]) is expected");
    const Signature* signature = FindPythonSignature(stmt.value->items[0]->text);
    const InstructionKind* kind = signature != nullptr ? FindInstructionKind(signature->kind) : nullptr;
    if (kind == nullptr)
      return Error(stmt.offset, fmt::format("no primitive named \"{}\"", stmt.value->items[0]->text));
    Instruction instruction{kind, {}, {}, {}};
    std::optional<Decision> decision;
    RETURN_IF_ERROR(ReadArguments(*stmt.value, *signature, instruction, decision));
    if (stmt.target != nullptr) RETURN_IF_ERROR(ReadTargets(*stmt.target, instruction));
    trace_.Append(std::move(instruction), std::move(decision));
    return OkStatus();
  }

  Status ReadTargets(const PyExpr& target, Instruction& instruction) {
    const bool is_list = target.kind == PyExprKind::kTuple || target.kind == PyExprKind::kList;
    const std::vector<const PyExpr*> names = is_list ? target.items : std::vector<const PyExpr*>{&target};
    for (const PyExpr* name : names) {
      if (name->kind != PyExprKind::kName || instruction.kind->output == '-')
        return Error(name->offset, "this call returns no handle for that name");
      const int id = next_id_++;
      instruction.outputs.push_back(id);
      switch (instruction.kind->output) {
        case 'b':
          handles_.insert_or_assign(std::string(name->text), BlockRV{id});
          break;
        case 'l':
          handles_.insert_or_assign(std::string(name->text), LoopRV{id});
          break;
        default:
          handles_.insert_or_assign(std::string(name->text), VarRV{id});
          break;
      }
    }
    return OkStatus();
  }

  static bool IsCalled(const Argument& argument, std::string_view keyword) {
    return keyword == argument.name || (!argument.in_traces.empty() && keyword == argument.in_traces);
  }
  // The expression given for `argument`, by name or at the next position; nullptr if it is left out.
  static const PyExpr* Find(const PyExpr& call, const Argument& argument, size_t& position) {
    const size_t num_positional = call.items.size() - 1 - call.keywords.size();
    for (size_t i = 0; i < call.keywords.size(); ++i) {
      if (IsCalled(argument, call.keywords[i])) return call.items[1 + num_positional + i];
    }
    if (position < num_positional) return call.items[1 + position++];
    return nullptr;
  }

  Status ReadArguments(const PyExpr& call, const Signature& signature, Instruction& instruction,
                       std::optional<Decision>& decision) {
    const size_t num_positional = call.items.size() - 1 - call.keywords.size();
    for (std::string_view keyword : call.keywords) {
      const bool known = std::any_of(signature.arguments.begin(), signature.arguments.end(),
                                     [&](const Argument& a) { return IsCalled(a, keyword); });
      if (!known)
        return Error(call.offset, fmt::format("{} has no argument \"{}\"", SnakeCase(signature.kind), keyword));
    }
    size_t position = 0;
    for (const Argument& argument : signature.arguments) {
      if (argument.keep == Keep::kStar) {
        for (; position < num_positional; ++position) {
          ASSIGN_OR_RETURN(TraceInput input, ReadInput(*call.items[1 + position]));
          instruction.inputs.push_back(std::move(input));
        }
        continue;
      }
      const PyExpr* given = Find(call, argument, position);
      if (given == nullptr && argument.fallback.empty()) {
        return Error(call.offset, fmt::format("{} needs argument \"{}\"", SnakeCase(signature.kind), argument.name));
      }
      RETURN_IF_ERROR(ReadArgument(argument, given, instruction, decision));
    }
    if (position < num_positional)
      return Error(call.offset, fmt::format("{} has too many arguments", SnakeCase(signature.kind)));
    return OkStatus();
  }

  Status ReadArgument(const Argument& argument, const PyExpr* given, Instruction& instruction,
                      std::optional<Decision>& decision) {
    switch (argument.keep) {
      case Keep::kBlock:
      case Keep::kBlockOrLoop:
      case Keep::kLoop:
      case Keep::kIndexMap:
      case Keep::kRanges:
      case Keep::kItems:
      case Keep::kSide:
      case Keep::kInput: {
        ASSIGN_OR_RETURN(TraceInput input, ReadInput(*given));
        instruction.inputs.push_back(std::move(input));
        return OkStatus();
      }
      case Keep::kInputs: {
        if (given == nullptr) return OkStatus();
        if (given->kind != PyExprKind::kList && given->kind != PyExprKind::kTuple)
          return Error(given->offset, fmt::format("\"{}\" is no list", argument.name));
        for (const PyExpr* item : given->items) {
          ASSIGN_OR_RETURN(TraceInput input, ReadInput(*item));
          instruction.inputs.push_back(std::move(input));
        }
        return OkStatus();
      }
      case Keep::kAttr:
      case Keep::kReadIndex:
      case Keep::kWriteIndex:
      case Keep::kFlag: {
        Attr attr;
        if (given == nullptr) {
          attr = DefaultOf(argument);
        } else {
          ASSIGN_OR_RETURN(attr, ReadAttr(*given));
        }
        if (const bool* flag = std::get_if<bool>(&attr)) attr = int64_t{*flag};
        instruction.attrs.push_back(std::move(attr));
        return OkStatus();
      }
      case Keep::kMapAttr: {
        Attr& attr = instruction.attrs.emplace_back(std::monostate());
        if (given == nullptr || given->kind == PyExprKind::kNone) return OkStatus();
        ASSIGN_OR_RETURN(IndexMap map, ReadIndexMap(*given, source_));
        attr = std::make_shared<const IndexMap>(std::move(map));
        return OkStatus();
      }
      case Keep::kBuffer:
        return ReadBuffer(*given, instruction);
      case Keep::kDecision: {
        if (given == nullptr || given->kind == PyExprKind::kNone) return OkStatus();
        ASSIGN_OR_RETURN(const Attr chosen, ReadAttr(*given));
        if (const int64_t* number = std::get_if<int64_t>(&chosen)) {
          decision = Decision(*number);
          return OkStatus();
        }
        std::vector<int64_t> factors;
        if (const auto* list = std::get_if<std::vector<Attr>>(&chosen)) {
          for (const Attr& item : *list)
            if (const int64_t* factor = std::get_if<int64_t>(&item)) factors.push_back(*factor);
        }
        decision = Decision(std::move(factors));
        return OkStatus();
      }
      case Keep::kStar:
        break;
    }
    return OkStatus();
  }

  // ("read", 0): two attributes.
  Status ReadBuffer(const PyExpr& e, Instruction& instruction) {
    const bool is_pair = e.kind == PyExprKind::kTuple && e.items.size() == 2 &&
                         e.items[0]->kind == PyExprKind::kString && e.items[1]->kind == PyExprKind::kInt;
    const std::string side = is_pair ? e.items[0]->string_value : "";
    if (side != "read" && side != "write")
      return Error(e.offset, "a buffer is expected, as (\"read\", 0) or (\"write\", 0)");
    instruction.attrs.push_back(static_cast<int64_t>(e.items[1]->int_value));
    instruction.attrs.push_back(int64_t{side == "write"});
    return OkStatus();
  }

  // [b0, b1]; nullopt if it is no list of blocks.
  std::optional<std::vector<BlockRV>> ReadBlocks(const PyExpr& e) const {
    std::vector<BlockRV> blocks;
    if (e.kind != PyExprKind::kList || e.items.empty()) return std::nullopt;
    for (const PyExpr* item : e.items) {
      const auto found = item->kind == PyExprKind::kName ? handles_.find(std::string(item->text)) : handles_.end();
      if (found == handles_.end() || !std::holds_alternative<BlockRV>(found->second)) return std::nullopt;
      blocks.push_back(std::get<BlockRV>(found->second));
    }
    return blocks;
  }

  static bool IsList(const PyExpr& e) { return e.kind == PyExprKind::kList || e.kind == PyExprKind::kTuple; }
  const VarRV* FindVariable(const PyExpr& e) const {
    const auto found = e.kind == PyExprKind::kName ? handles_.find(std::string(e.text)) : handles_.end();
    return found == handles_.end() ? nullptr : std::get_if<VarRV>(&found->second);
  }
  bool HoldsVariables(const PyExpr& e) const {
    if (!IsList(e)) return FindVariable(e) != nullptr;
    return std::any_of(e.items.begin(), e.items.end(), [&](const PyExpr* item) { return HoldsVariables(*item); });
  }
  // [v0, 2]
  StatusOr<TraceItems> ReadItems(const PyExpr& e) {
    TraceItems items;
    for (const PyExpr* item : e.items) {
      if (const VarRV* var = FindVariable(*item)) {
        items.push_back({*var});
      } else if (HoldsVariables(*item)) {
        ASSIGN_OR_RETURN(TraceItems inner, ReadItems(*item));
        items.push_back({std::move(inner)});
      } else {
        ASSIGN_OR_RETURN(Attr value, ReadAttr(*item));
        items.push_back({std::move(value)});
      }
    }
    return items;
  }

  // The sampled variables that an index map may name.
  StatusOr<TraceInput> ReadMap(const PyExpr& lambda) {
    std::vector<Var> vars;
    std::unordered_map<const ExprNode*, VarRV> ids;
    for (const auto& [name, handle] : handles_) {
      const VarRV* sampled = std::get_if<VarRV>(&handle);
      if (sampled != nullptr) ids.emplace(vars.emplace_back(name, kIndexType).get(), *sampled);
    }
    ASSIGN_OR_RETURN(const IndexMap map, ReadIndexMap(lambda, source_, vars));
    TraceMap result(map);
    for (const Var& var : FreeVarsOf(map)) result.sampled.emplace_back(var, ids.at(var.get()));
    return TraceInput(std::move(result));
  }

  StatusOr<TraceInput> ReadInput(const PyExpr& e) {
    if (e.kind == PyExprKind::kNone) return TraceInput();
    if (e.kind == PyExprKind::kLambda) return ReadMap(e);
    if (std::optional<std::vector<BlockRV>> blocks = ReadBlocks(e)) return TraceInput(*std::move(blocks));
    if (e.kind == PyExprKind::kName) {
      const auto found = handles_.find(std::string(e.text));
      if (found == handles_.end()) return Error(e.offset, fmt::format("\"{}\" is not defined", e.text));
      return found->second;
    }
    if (IsList(e) && HoldsVariables(e)) {
      ASSIGN_OR_RETURN(TraceItems items, ReadItems(e));
      return TraceInput(std::move(items));
    }
    ASSIGN_OR_RETURN(const Attr attr, ReadAttr(e));
    if (const int64_t* number = std::get_if<int64_t>(&attr)) return TraceInput(*number);
    if (const bool* flag = std::get_if<bool>(&attr)) return TraceInput(int64_t{*flag});
    if (const std::string* text = std::get_if<std::string>(&attr)) return TraceInput(*text);
    if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) {
      std::vector<int64_t> numbers;
      for (const Attr& item : *list)
        if (const int64_t* number = std::get_if<int64_t>(&item)) numbers.push_back(*number);
      if (numbers.size() == list->size()) return TraceInput(std::move(numbers));
    }
    return TraceInput(attr);
  }

  StatusOr<Attr> ReadExprAttr(const PyExpr& e) {
    const ConstantTable no_constants;
    const NameTable names(no_constants);
    const ScriptContext context;
    StatusOr<Expr> value = ExprBuilder(source_, names, context).Build(e);
    if (!value.ok()) return Error(e.offset, "a constant is expected");
    return Attr(*std::move(value));
  }

  StatusOr<Attr> ReadAttr(const PyExpr& e) {
    switch (e.kind) {
      case PyExprKind::kInt:
        return Attr(static_cast<int64_t>(e.int_value));
      case PyExprKind::kFloat:
        return Attr(e.float_value);
      case PyExprKind::kString:
        return Attr(e.string_value);
      case PyExprKind::kTrue:
        return Attr(true);
      case PyExprKind::kFalse:
        return Attr(false);
      case PyExprKind::kUnary: {
        ASSIGN_OR_RETURN(const Attr inner, ReadAttr(*e.items[0]));
        if (const int64_t* number = std::get_if<int64_t>(&inner); number != nullptr && e.text == "-")
          return Attr(-*number);
        return Error(e.offset, "a constant is expected");
      }
      case PyExprKind::kList:
      case PyExprKind::kTuple: {
        std::vector<Attr> items;
        for (const PyExpr* item : e.items) {
          ASSIGN_OR_RETURN(Attr attr, ReadAttr(*item));
          items.push_back(std::move(attr));
        }
        return Attr(std::move(items));
      }
      case PyExprKind::kNone:
        return Attr(std::monostate());
      case PyExprKind::kDict: {
        AttrMap map;
        for (size_t i = 0; i + 1 < e.items.size(); i += 2) {
          if (e.items[i]->kind != PyExprKind::kString) return Error(e.items[i]->offset, "a key is no string");
          ASSIGN_OR_RETURN(map[e.items[i]->string_value], ReadAttr(*e.items[i + 1]));
        }
        return Attr(std::move(map));
      }
      default:  // T.float32(0.5), T.int64(3)
        return ReadExprAttr(e);
    }
  }

  const Source& source_;
  ScheduleTrace trace_;
  std::unordered_map<std::string, TraceInput> handles_;
  int next_id_ = 0;
};

}  // namespace

std::string ScheduleTrace::ToPython() const {
  std::string text;
  for (size_t i = 0; i < size(); ++i) text += WriteCall(*instructions_[i], decision(i), true) + "\n";
  return text;
}

std::string ToPythonAlone(Instruction instruction) {
  const auto forget = [](int& id) { id = -1; };
  for (TraceInput& input : instruction.inputs) ForEachHandle(input, forget);
  for (int& id : instruction.outputs) forget(id);
  return WriteCall(instruction, nullptr, false);
}

StatusOr<ScheduleTrace> ScheduleTrace::FromPython(std::string_view text) {
  const Source source{.file_name = "schedule", .text = text};
  ASSIGN_OR_RETURN(const PyFile file, ParsePython(source));
  return PythonReader(source).Read(file.body);
}

std::string ToPythonFunction(std::string_view name, const ScheduleTrace& trace) {
  std::string text = fmt::format("def {}(sch):\n", name);
  std::istringstream calls(trace.size() == 0 ? "pass\n" : trace.ToPython());
  for (std::string call; std::getline(calls, call);) text += "    " + call + "\n";
  return text;
}

StatusOr<std::map<std::string, ScheduleTrace>> TracesFromPython(std::string_view text) {
  const Source source{.file_name = "schedules", .text = text};
  ASSIGN_OR_RETURN(const PyFile file, ParsePython(source));
  std::map<std::string, ScheduleTrace> traces;
  for (const PyStmt* stmt : file.body) {
    if (stmt->kind != PyStmtKind::kFunction || stmt->params.size() != 1 || stmt->params[0].name != "sch")
      return ErrorAt(source, stmt->offset, "a function of the schedule is expected: def matmul(sch):");
    ASSIGN_OR_RETURN(ScheduleTrace trace, PythonReader(source).Read(stmt->body));
    if (!traces.emplace(stmt->text, std::move(trace)).second)
      return ErrorAt(source, stmt->offset, fmt::format("\"{}\" has a schedule already", stmt->text));
  }
  return traces;
}

}  // namespace lathe
