// ScheduleTrace to and from TVM's JSON layout.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "compiler/schedule/instruction_signature.h"
#include "compiler/schedule/trace_map.h"
#include "compiler/script/index_map_text.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxInstructions = 1 << 14;

std::string HandleName(char kind, int id) { return fmt::format("{}{}", kind, id); }

Json ToJsonValue(const Attr& attr) {
  if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) {
    Json array = Json::array();
    for (const Attr& item : *list) array.push_back(ToJsonValue(item));
    return array;
  }
  if (const int64_t* number = std::get_if<int64_t>(&attr)) return *number;
  if (const double* real = std::get_if<double>(&attr)) return *real;
  if (const bool* flag = std::get_if<bool>(&attr)) return *flag;
  if (const Expr* e = std::get_if<Expr>(&attr)) return Print(*e);
  if (const auto* map = std::get_if<AttrMap>(&attr)) {
    Json object = Json::object();
    for (const auto& [key, value] : *map) object[key] = ToJsonValue(value);
    return object;
  }
  const auto* text = std::get_if<std::string>(&attr);
  return text == nullptr ? Json() : Json(*text);
}

// As an input: texts are quoted, to differ from handles, but for those in maps.
Json InputValue(const Attr& attr) {
  if (const std::string* text = std::get_if<std::string>(&attr)) return "\"" + *text + "\"";
  if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) {
    Json array = Json::array();
    for (const Attr& item : *list) array.push_back(InputValue(item));
    return array;
  }
  return ToJsonValue(attr);
}

Json ToJsonValue(const TraceItems& items) {
  Json array = Json::array();
  for (const TraceItem& item : items) {
    if (const auto* var = std::get_if<VarRV>(&item.value)) array.push_back(HandleName('v', var->id));
    if (const Attr* value = std::get_if<Attr>(&item.value)) array.push_back(InputValue(*value));
    if (const auto* inner = std::get_if<TraceItems>(&item.value)) array.push_back(ToJsonValue(*inner));
  }
  return array;
}

Json ToJsonValue(const TraceInput& input) {
  if (const auto* block = std::get_if<BlockRV>(&input)) return HandleName('b', block->id);
  if (const auto* loop = std::get_if<LoopRV>(&input)) return HandleName('l', loop->id);
  if (const auto* var = std::get_if<VarRV>(&input)) return HandleName('v', var->id);
  if (const int64_t* number = std::get_if<int64_t>(&input)) return *number;
  if (const std::string* text = std::get_if<std::string>(&input)) return InputValue(*text);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&input)) return *list;
  if (const Attr* value = std::get_if<Attr>(&input)) return InputValue(*value);
  if (const auto* items = std::get_if<TraceItems>(&input)) return ToJsonValue(*items);
  if (const auto* blocks = std::get_if<std::vector<BlockRV>>(&input)) {
    Json array = Json::array();
    for (const BlockRV block : *blocks) array.push_back(HandleName('b', block.id));
    return array;
  }
  return nullptr;
}

StatusOr<Attr> ReadAttr(const Json& json) {
  if (json.is_null()) return Attr(std::monostate());
  if (json.is_boolean()) return Attr(json.get<bool>());
  if (json.is_number_integer()) return Attr(json.get<int64_t>());
  if (json.is_number_float()) return Attr(json.get<double>());
  if (json.is_string()) return Attr(json.get<std::string>());
  if (json.is_array()) {
    std::vector<Attr> items;
    for (const Json& item : json) {
      if (item.is_array())
        return InvalidArgument("read trace: an attribute is a list of lists; numbers and strings are required");
      ASSIGN_OR_RETURN(Attr attr, ReadAttr(item));
      items.push_back(std::move(attr));
    }
    return Attr(std::move(items));
  }
  return InvalidArgument(
      fmt::format("read trace: attribute {} is no number, string or list", json.dump().substr(0, 80)));
}

StatusOr<int> ReadHandleId(std::string_view name) {
  int id = -1;
  if (name.size() >= 2) {
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), id);
    if (error != std::errc() || end != name.data() + name.size()) id = -1;
  }
  if (id < 0 || id >= kMaxHandles)
    return InvalidArgument(fmt::format("read trace: \"{}\" is no handle such as b0, l1 or v2", name.substr(0, 40)));
  return id;
}

Json ToJsonValue(const TraceInput& input, const MapForm& maps) {
  const auto* map = std::get_if<TraceMap>(&input);
  return map == nullptr ? ToJsonValue(input) : Json(maps.write(*map));
}
Json ToJsonValue(const Attr& attr, const MapForm& maps) {
  const auto* map = std::get_if<std::shared_ptr<const IndexMap>>(&attr);
  return map == nullptr ? ToJsonValue(attr) : Json(maps.write(TraceMap(*map)));
}

// A value of an input that is no handle; texts in lists are quoted.
StatusOr<Attr> ReadInputValue(const Json& json, int depth, bool is_quoted) {
  if (depth > 16) return InvalidArgument("read trace: an input is nested too deeply");
  if (json.is_null()) return Attr(std::monostate());
  if (json.is_array()) {
    std::vector<Attr> items;
    for (const Json& item : json) {
      ASSIGN_OR_RETURN(Attr attr, ReadInputValue(item, depth + 1, is_quoted));
      items.push_back(std::move(attr));
    }
    return Attr(std::move(items));
  }
  if (json.is_object()) {
    AttrMap map;
    for (const auto& [key, value] : json.items()) {
      ASSIGN_OR_RETURN(Attr attr, ReadInputValue(value, depth + 1, false));
      map.insert_or_assign(key, std::move(attr));
    }
    return Attr(std::move(map));
  }
  if (!json.is_string() || !is_quoted) return ReadAttr(json);
  const std::string& text = json.get_ref<const std::string&>();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return Attr(text.substr(1, text.size() - 2));
  return InvalidArgument(fmt::format("read trace: \"{}\" in a list is no quoted text", text.substr(0, 40)));
}

bool IsBlockName(const Json& json) { return json.is_string() && json.get_ref<const std::string&>().starts_with('b'); }

bool IsVariableName(const Json& json) {
  return json.is_string() && json.get_ref<const std::string&>().starts_with('v');
}
bool HoldsVariables(const Json& json, int depth = 0) {
  if (!json.is_array() || depth > 16) return IsVariableName(json);
  return std::any_of(json.begin(), json.end(), [&](const Json& item) { return HoldsVariables(item, depth + 1); });
}

// A list in which variables stand among other values.
StatusOr<TraceItems> ReadItems(const Json& json, int depth = 0) {
  if (depth > 16) return InvalidArgument("read trace: an input is nested too deeply");
  TraceItems items;
  for (const Json& item : json) {
    if (IsVariableName(item)) {
      ASSIGN_OR_RETURN(const int id, ReadHandleId(item.get_ref<const std::string&>()));
      items.push_back({VarRV{id}});
    } else if (item.is_array() && HoldsVariables(item)) {
      ASSIGN_OR_RETURN(TraceItems inner, ReadItems(item, depth + 1));
      items.push_back({std::move(inner)});
    } else {
      ASSIGN_OR_RETURN(Attr value, ReadInputValue(item, 0, true));
      items.push_back({std::move(value)});
    }
  }
  return items;
}

// [1, 2], ["b0", "b1"] or a list of other values.
StatusOr<TraceInput> ReadListInput(const Json& json) {
  if (std::all_of(json.begin(), json.end(), [](const Json& x) { return x.is_number_integer(); }))
    return TraceInput(json.get<std::vector<int64_t>>());
  std::vector<BlockRV> blocks;
  if (std::all_of(json.begin(), json.end(), IsBlockName)) {
    for (const Json& item : json) {
      ASSIGN_OR_RETURN(const int id, ReadHandleId(item.get_ref<const std::string&>()));
      blocks.push_back(BlockRV{id});
    }
    return TraceInput(std::move(blocks));
  }
  if (HoldsVariables(json)) {
    ASSIGN_OR_RETURN(TraceItems items, ReadItems(json));
    return TraceInput(std::move(items));
  }
  ASSIGN_OR_RETURN(Attr list, ReadInputValue(json, 0, true));
  return TraceInput(std::move(list));
}

StatusOr<TraceInput> ReadInput(const Json& json, const MapForm& maps) {
  if (json.is_null()) return TraceInput();
  if (json.is_number_integer()) return TraceInput(json.get<int64_t>());
  if (json.is_array()) return ReadListInput(json);
  if (json.is_object() || json.is_number_float() || json.is_boolean()) {
    ASSIGN_OR_RETURN(Attr value, ReadInputValue(json, 0, true));
    return TraceInput(std::move(value));
  }
  if (!json.is_string())
    return InvalidArgument(
        fmt::format("read trace: input {} is no handle, number, string or null", json.dump().substr(0, 80)));
  const std::string& text = json.get_ref<const std::string&>();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return TraceInput(text.substr(1, text.size() - 2));
  ASSIGN_OR_RETURN(std::optional<IndexMap> map, maps.read(text));
  if (map) {
    ASSIGN_OR_RETURN(TraceMap with_sampled, WithSampled(*std::move(map)));
    return TraceInput(std::move(with_sampled));
  }
  ASSIGN_OR_RETURN(const int id, ReadHandleId(text));
  if (text[0] == 'b') return TraceInput(BlockRV{id});
  if (text[0] == 'l') return TraceInput(LoopRV{id});
  if (text[0] == 'v') return TraceInput(VarRV{id});
  return InvalidArgument(fmt::format("read trace: \"{}\" is no handle such as b0, l1 or v2", text.substr(0, 40)));
}

StatusOr<Attr> ReadAttr(const Json& json, bool is_map, const MapForm& maps) {
  if (!is_map || !json.is_string()) return ReadAttr(json);
  ASSIGN_OR_RETURN(std::optional<IndexMap> map, maps.read(json.get_ref<const std::string&>()));
  if (!map) return InvalidArgument(fmt::format("read trace: {} is no index map", json.dump().substr(0, 80)));
  return Attr(std::make_shared<const IndexMap>(*std::move(map)));
}

StatusOr<Instruction> ReadParts(const InstructionKind& kind, const Json& json, const MapForm& maps) {
  Instruction instruction{&kind, {}, {}, {}};
  for (const Json& item : json[1]) {
    ASSIGN_OR_RETURN(TraceInput input, ReadInput(item, maps));
    instruction.inputs.push_back(std::move(input));
  }
  const int map_at = MapAttrOf(kind.name);
  for (const Json& item : json[2]) {
    ASSIGN_OR_RETURN(Attr attr, ReadAttr(item, static_cast<int>(instruction.attrs.size()) == map_at, maps));
    instruction.attrs.push_back(std::move(attr));
  }
  for (const Json& item : json[3]) {
    if (!item.is_string()) return InvalidArgument("read trace: an output is no handle");
    ASSIGN_OR_RETURN(const int id, ReadHandleId(item.get_ref<const std::string&>()));
    instruction.outputs.push_back(id);
  }
  return instruction;
}

StatusOr<Instruction> ReadInstruction(const Json& json, size_t index, const MapForm& maps) {
  if (!json.is_array() || json.size() != 4 || !json[0].is_string() || !json[1].is_array() || !json[2].is_array() ||
      !json[3].is_array()) {
    return InvalidArgument(fmt::format("read trace: instruction {} is not [kind, inputs, attributes, outputs]", index));
  }
  const std::string& name = json[0].get_ref<const std::string&>();
  const InstructionKind* kind = FindInstructionKind(name);
  if (kind == nullptr)
    return Unimplemented(
        fmt::format("read trace: instruction {} is \"{}\", which this build does not know", index, name.substr(0, 40)));
  StatusOr<Instruction> instruction = ReadParts(*kind, json, maps);
  if (instruction.ok()) return instruction;
  return instruction.status().WithContext(fmt::format("instruction {} ({})", index, name));
}

StatusOr<Decision> ReadDecision(const Json& json) {
  if (json.is_number_integer()) return Decision(json.get<int64_t>());
  if (json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& x) { return x.is_number_integer(); })) {
    return Decision(json.get<std::vector<int64_t>>());
  }
  return InvalidArgument(
      fmt::format("read trace: decision {} is no integer or list of integers", json.dump().substr(0, 80)));
}

}  // namespace

const MapForm& MapsAsText() {
  static const auto& form = *new MapForm{[](const TraceMap& map) { return Print(WithNames(map)); },
                                         [](const std::string& text) -> StatusOr<std::optional<IndexMap>> {
                                           if (!text.starts_with("lambda ")) return std::optional<IndexMap>();
                                           ASSIGN_OR_RETURN(IndexMap map, ParseIndexMap(text, HandleNamesIn(text)));
                                           return std::optional<IndexMap>(std::move(map));
                                         }};
  return form;
}

std::string ScheduleTrace::ToJson(const MapForm& maps) const {
  Json instructions = Json::array(), decisions = Json::array();
  for (const auto& instruction : instructions_) {
    Json inputs = Json::array(), attrs = Json::array(), outputs = Json::array();
    for (const TraceInput& input : instruction->inputs) inputs.push_back(ToJsonValue(input, maps));
    for (const Attr& attr : instruction->attrs) attrs.push_back(ToJsonValue(attr, maps));
    for (int id : instruction->outputs) outputs.push_back(HandleName(instruction->kind->output, id));
    instructions.push_back(
        {std::string(instruction->kind->name), std::move(inputs), std::move(attrs), std::move(outputs)});
  }
  for (const auto& [index, decision] : decisions_) {
    Json value;
    std::visit([&](const auto& chosen) { value = chosen; }, decision);
    decisions.push_back({index, std::move(value)});
  }
  return Json::array({std::move(instructions), std::move(decisions)}).dump();
}

StatusOr<ScheduleTrace> ScheduleTrace::FromJson(std::string_view text, const MapForm& maps) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("read trace: the text is no JSON");
  if (!json.is_array() || json.size() != 2 || !json[0].is_array() || !json[1].is_array()) {
    return InvalidArgument("read trace: [instructions, decisions] is required");
  }
  if (json[0].size() > kMaxInstructions)
    return InvalidArgument(
        fmt::format("read trace: {} instructions, at most {} are allowed", json[0].size(), kMaxInstructions));
  ScheduleTrace trace;
  for (const Json& item : json[0]) {
    ASSIGN_OR_RETURN(Instruction instruction, ReadInstruction(item, trace.size(), maps));
    trace.Append(std::move(instruction));
  }
  for (const Json& item : json[1]) {
    if (!item.is_array() || item.size() != 2 || !item[0].is_number_unsigned() ||
        item[0].get<size_t>() >= trace.size() || !trace.instruction(item[0].get<size_t>()).kind->samples) {
      return InvalidArgument("read trace: a decision is not [index of a sampling instruction, value]");
    }
    ASSIGN_OR_RETURN(Decision decision, ReadDecision(item[1]));
    trace.SetDecision(item[0].get<size_t>(), std::move(decision));
  }
  return trace;
}

}  // namespace lathe
