#include "compiler/script/expr_builder.h"

#include <fmt/core.h>

#include <algorithm>

#include "compiler/arith/simplifier.h"
#include "compiler/ir/number_attr.h"
#include "compiler/script/checked_expr.h"
#include "compiler/script/dialect.h"
#include "compiler/script/operator_rules.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// The elements of a tuple or list; `e` itself otherwise.
std::vector<const PyExpr*> Elements(const PyExpr& e) {
  if (e.kind == PyExprKind::kTuple || e.kind == PyExprKind::kList) return e.items;
  return {&e};
}

std::optional<BinaryOp> InfixOp(std::string_view text) {
  for (const BinarySpelling& row : BinarySpellings()) {
    if (row.infix == text) return row.op;
  }
  return std::nullopt;
}

std::string_view BitwiseOp(std::string_view text) {
  if (text == "&") return "bitwise_and";
  if (text == "|") return "bitwise_or";
  if (text == "^") return "bitwise_xor";
  if (text == "<<") return "shift_left";
  return text == ">>" ? "shift_right" : "";
}

}  // namespace

// T, or tvm.script.tir in full.
bool ExprBuilder::IsTirDialect(const PyExpr& e) const {
  if (e.kind == PyExprKind::kName) return context_->tir_names.contains(e.text) && names_.Find(e.text) == nullptr;
  if (e.kind != PyExprKind::kAttribute || e.text != "tir") return false;
  const PyExpr& script = *e.items[0];
  return script.kind == PyExprKind::kAttribute && script.text == "script" &&
         script.items[0]->kind == PyExprKind::kName && names_.Find(script.items[0]->text) == nullptr;
}

std::string ExprBuilder::TirName(const PyExpr& e) const {
  if (e.kind == PyExprKind::kName) {
    const auto member = context_->tir_members.find(e.text);
    return member == context_->tir_members.end() || names_.Find(e.text) != nullptr ? "" : member->second;
  }
  if (e.kind != PyExprKind::kAttribute) return "";
  const PyExpr& object = *e.items[0];
  if (IsTirDialect(object)) return std::string(e.text);
  const bool may_be_group =
      object.kind == PyExprKind::kName || (object.kind == PyExprKind::kAttribute && IsTirDialect(*object.items[0]));
  const std::string group = may_be_group ? TirName(object) : "";  // T.axis, or a name for it.
  return group.empty() ? "" : fmt::format("{}.{}", group, e.text);
}

StatusOr<BoundArgs> ExprBuilder::Bind(const PyExpr& call, std::span<const std::string_view> params, size_t required,
                                      bool is_none_value) const {
  const std::string name = TirName(*call.items[0]);
  const std::string callee = name.empty() ? std::string(call.items[0]->text) : "T." + name;
  BoundArgs args(params.size(), nullptr);
  const size_t num_positional = call.items.size() - 1 - call.keywords.size();
  if (num_positional > params.size())
    return Error(call,
                 fmt::format("expected at most {} arguments of {}, got {}", params.size(), callee, num_positional));
  for (size_t i = 1; i < call.items.size(); ++i) {
    size_t slot = i - 1;
    if (slot >= num_positional) {
      const std::string_view keyword = call.keywords[slot - num_positional];
      slot = std::find(params.begin(), params.end(), keyword) - params.begin();
      if (slot == params.size())
        return Error(*call.items[i], fmt::format("expected a parameter of {}, got \"{}\"", callee, keyword));
      if (args[slot] != nullptr)
        return Error(*call.items[i], fmt::format("expected one value of \"{}\", got a second", keyword));
    }
    ASSIGN_OR_RETURN(const PyExpr* const value, ChosenOf(*call.items[i]));  // May choose None.
    if (is_none_value || value->kind != PyExprKind::kNone) args[slot] = call.items[i];
  }
  for (size_t i = 0; i < required; ++i) {
    if (args[i] == nullptr)
      return Error(call, fmt::format("expected the argument \"{}\" of {}, got none", params[i], callee));
  }
  return args;
}

// ---- Values that are no expressions --------------------------------------------------------------------------------

StatusOr<std::string> ExprBuilder::BuildString(const PyExpr& e) const {
  if (e.kind == PyExprKind::kString) return e.string_value;
  if (e.kind == PyExprKind::kName || MayBeForeign(e)) {
    StatusOr<ScriptValue> value = BuildValue(e);
    const Attr* attr = value.ok() ? std::get_if<Attr>(&*value) : nullptr;
    const std::string* text = attr == nullptr ? nullptr : std::get_if<std::string>(attr);
    if (text != nullptr) return *text;
    const DataType* type = value.ok() ? std::get_if<DataType>(&*value) : nullptr;
    if (type != nullptr) return type->ToString();
    const Expr* expr = value.ok() ? std::get_if<Expr>(&*value) : nullptr;
    if (expr != nullptr && expr->As<StringImm>() != nullptr) return expr->As<StringImm>()->value;
  }
  return Error(e, "expected a string");
}

StatusOr<DataType> ExprBuilder::BuildType(const PyExpr& e) const {
  const bool is_type_of = e.kind == PyExprKind::kAttribute && e.text == "ty" && e.items[0]->kind == PyExprKind::kCall;
  const PyExpr& named = is_type_of ? *e.items[0] : e;  // T.handle().ty, as TVM prints today.
  std::string text = TirName(named.kind == PyExprKind::kCall && named.items.size() == 1 ? *named.items[0] : named);
  if (text.empty()) {
    StatusOr<std::string> name = BuildString(e);
    if (!name.ok()) return Error(e, "expected a dtype such as \"float32\" or T.float32");
    text = *std::move(name);
  }
  StatusOr<DataType> type = DataType::Parse(text.empty() ? "void" : text);  // TVM takes "" for it.
  if (!type.ok()) return Error(e, fmt::format("expected a dtype such as \"float32\", got \"{}\"", text.substr(0, 40)));
  return *type;
}

// T.handle, T.handle("float32", "shared")
StatusOr<const PointerType*> ExprBuilder::BuildPointer(const PyExpr& e) const {
  if (e.kind != PyExprKind::kCall) return nullptr;
  ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"dtype", "storage_scope"}, 0));
  if (args[0] == nullptr) return nullptr;
  ASSIGN_OR_RETURN(const DataType element, BuildType(*args[0]));
  std::string scope = "global";
  if (args[1] != nullptr) {
    ASSIGN_OR_RETURN(scope, BuildString(*args[1]));
  }
  return MakePointerType(element, scope);
}

StatusOr<int64_t> ExprBuilder::BuildInt(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const Expr value, Build(e));
  const int64_t* constant = AsIntConst(value);
  if (constant == nullptr) return Error(e, "expected an integer constant");
  return *constant;
}

StatusOr<bool> ExprBuilder::BuildBool(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const int64_t value, BuildInt(e));
  return value != 0;
}

namespace {

// nullopt: buffers and regions are no attributes.
std::optional<Attr> AttrOfValue(const ScriptValue& value) {
  if (const Attr* attr = std::get_if<Attr>(&value)) return *attr;
  if (const Expr* e = std::get_if<Expr>(&value)) return AttrOf(*e);
  if (const DataType* type = std::get_if<DataType>(&value)) return Attr(type->ToString());
  const auto* list = std::get_if<std::vector<ScriptValue>>(&value);
  if (list == nullptr) return std::nullopt;
  std::vector<Attr> items;
  for (const ScriptValue& item : *list) {
    std::optional<Attr> attr = AttrOfValue(item);
    if (!attr) return std::nullopt;
    items.push_back(*std::move(attr));
  }
  return Attr(std::move(items));
}

}  // namespace

StatusOr<Attr> ExprBuilder::BuildAttr(const PyExpr& e) const {
  if (e.kind == PyExprKind::kTrue || e.kind == PyExprKind::kFalse) return Attr(e.kind == PyExprKind::kTrue);
  if (e.kind == PyExprKind::kNone) return Attr(std::monostate());
  if (e.kind == PyExprKind::kDict) {
    ASSIGN_OR_RETURN(AttrMap map, BuildAttrs(e));
    return Attr(std::move(map));
  }
  if (e.kind == PyExprKind::kList || e.kind == PyExprKind::kTuple) {
    std::vector<Attr> items;
    for (const PyExpr* item : e.items) {
      ASSIGN_OR_RETURN(Attr attr, BuildAttr(*item));
      items.push_back(std::move(attr));
    }
    return Attr(std::move(items));
  }
  if (CalleeName(e) == "target") {  // T.target({"kind": "llvm"}, host=...)
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"target_config", "host"}, 1));
    AttrMap target;
    ASSIGN_OR_RETURN(target["T.target"], BuildAttr(*args[0]));
    if (args[1] != nullptr) {
      ASSIGN_OR_RETURN(target["host"], BuildAttr(*args[1]));
    }
    return Attr(std::move(target));
  }
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
  std::optional<Attr> attr = AttrOfValue(value);
  if (!attr) return Error(e, "expected a number, a text, an expression, True, False, None, or a list or dict of them");
  return *std::move(attr);
}

StatusOr<AttrMap> ExprBuilder::BuildAttrs(const PyExpr& e) const {
  if (e.kind != PyExprKind::kDict) {  // Somebody else's dict, perhaps.
    ASSIGN_OR_RETURN(const Attr value, BuildAttr(e));
    if (const AttrMap* known = std::get_if<AttrMap>(&value)) return *known;
    return Error(e, "expected a dict such as {\"key\": 1}");
  }
  AttrMap attrs;
  for (size_t i = 0; i < e.items.size(); i += 2) {
    ASSIGN_OR_RETURN(std::string key, BuildString(*e.items[i]));
    ASSIGN_OR_RETURN(Attr value, BuildAttr(*e.items[i + 1]));
    attrs.insert_or_assign(std::move(key), std::move(value));
  }
  return attrs;
}

StatusOr<Buffer> ExprBuilder::BuildBufferUse(const PyExpr& e) const {
  if (e.kind != PyExprKind::kName && !MayBeForeign(e)) return Error(e, "expected a buffer");
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
  if (const Buffer* buffer = std::get_if<Buffer>(&value)) return *buffer;
  const Expr* expr = std::get_if<Expr>(&value);
  if (expr != nullptr && expr->dtype() == DataType::Handle())
    return Error(e, fmt::format("expected a buffer, got handle \"{}\"; give it a shape with T.match_buffer", e.text));
  return Error(e, fmt::format("expected a buffer, got \"{}\"", e.text));
}

// ---- Values from outside -------------------------------------------------------------------------------------------

bool ExprBuilder::MayBeForeign(const PyExpr& e) {
  return e.kind == PyExprKind::kForeign || e.kind == PyExprKind::kAttribute || e.kind == PyExprKind::kCall ||
         e.kind == PyExprKind::kSubscript || e.kind == PyExprKind::kLambda || e.kind == PyExprKind::kConditional ||
         e.kind == PyExprKind::kBinary;
}

namespace {

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The names in a text; also words in its strings, which does no harm.
std::set<std::string_view> WordsOf(std::string_view text) {
  std::set<std::string_view> words;
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = begin;
    while (end < text.size() && IsWordChar(text[end])) ++end;
    if (end > begin) words.insert(text.substr(begin, end - begin));
  }
  return words;
}

bool IsProgramValue(const ScriptValue& value) {
  if (const auto* items = std::get_if<std::vector<ScriptValue>>(&value))
    return std::all_of(items->begin(), items->end(), IsProgramValue);
  return !std::holds_alternative<Expr>(value) && !std::holds_alternative<Buffer>(value) &&
         !std::holds_alternative<BufferRegion>(value);
}

bool HoldsHostObject(const ScriptValue& value) {
  const auto* items = std::get_if<std::vector<ScriptValue>>(&value);
  return items != nullptr ? std::any_of(items->begin(), items->end(), HoldsHostObject)
                          : std::holds_alternative<std::shared_ptr<const HostObject>>(value);
}

bool IsOperator(PyExprKind kind) {
  return kind == PyExprKind::kUnary || kind == PyExprKind::kBinary || kind == PyExprKind::kCompare ||
         kind == PyExprKind::kLogical || kind == PyExprKind::kConditional || kind == PyExprKind::kSubscript;
}

// What the parser knows of a buffer and of a value by name.
bool IsKnownAttribute(const NamedValue& object, std::string_view name) {
  if (std::holds_alternative<Expr>(object)) return name == "dtype";
  if (!std::holds_alternative<Buffer>(object)) return false;
  return name == "data" || name == "elem_offset" || name == "dtype" || name == "shape" || name == "strides";
}
bool IsKnownMethod(const NamedValue& object, std::string_view name) {
  if (std::holds_alternative<Expr>(object)) return name == "astype";
  if (!std::holds_alternative<Buffer>(object)) return false;
  return name == "vload" || name == "vstore" || name == "access_ptr" || name == "scope";
}

}  // namespace

bool ExprBuilder::IsOutside(const PyExpr& e) const {
  const auto known = [&](const PyExpr& name) {
    return name.kind == PyExprKind::kName ? names_.Find(name.text) : nullptr;
  };
  switch (e.kind) {
    case PyExprKind::kForeign:
    case PyExprKind::kLambda:
      return true;
    case PyExprKind::kName:
      return known(e) == nullptr;
    case PyExprKind::kAttribute:
      if (!TirName(e).empty()) return false;
      return known(*e.items[0]) == nullptr || !IsKnownAttribute(*known(*e.items[0]), e.text);
    case PyExprKind::kCall:
      return IsOutsideCall(e);
    case PyExprKind::kSubscript: {
      const PyExpr& object = *e.items[0];
      if (object.kind == PyExprKind::kName)
        return known(object) == nullptr || HoldsHostObject(*known(object)) || HasIndexOfProgram(e);
      return IsOutside(object) || (object.kind != PyExprKind::kAttribute && object.kind != PyExprKind::kCall);
    }
    default:
      return false;
  }
}

// A[part], where part is a slice of the program, or several.
bool ExprBuilder::HasIndexOfProgram(const PyExpr& subscript) const {
  return std::any_of(subscript.items.begin() + 1, subscript.items.end(), [&](const PyExpr* item) {
    const NamedValue* value = item->kind == PyExprKind::kName ? names_.Find(item->text) : nullptr;
    return value != nullptr && HoldsHostObject(*value);
  });
}

bool ExprBuilder::IsOutsideCall(const PyExpr& e) const {
  const PyExpr& callee = *e.items[0];
  if (!TirName(callee).empty() || !FuncName(callee).empty()) return false;
  if (callee.kind == PyExprKind::kName) return callee.text != "float" || names_.Find(callee.text) != nullptr;
  if (callee.kind != PyExprKind::kAttribute) return true;
  const PyExpr& object = *callee.items[0];
  if (object.kind != PyExprKind::kName) return callee.text != "astype" || IsOutside(object);
  const NamedValue* value = names_.Find(object.text);
  return value == nullptr || !IsKnownMethod(*value, callee.text);
}

// False where something of the function is in `e`.
bool ExprBuilder::CollectNames(const PyExpr& e, bool& has_name) const {
  if (e.kind == PyExprKind::kName || e.kind == PyExprKind::kForeign) {
    has_name = true;
    const NamedValue* value = e.kind == PyExprKind::kName ? names_.Find(e.text) : nullptr;
    return value == nullptr || IsProgramValue(*value);
  }
  if (e.kind == PyExprKind::kAttribute && !TirName(e).empty()) return false;
  if (e.kind == PyExprKind::kCall && !FuncName(*e.items[0]).empty()) return false;
  return std::all_of(e.items.begin(), e.items.end(), [&](const PyExpr* item) { return CollectNames(*item, has_name); });
}

namespace {

// [8] * 2, [4] + rest: Python's.
bool IsListOperation(const PyExpr& e) {
  const auto is_list = [](const PyExpr* item) {
    return item->kind == PyExprKind::kList || item->kind == PyExprKind::kTuple || IsListOperation(*item);
  };
  return e.kind == PyExprKind::kBinary && std::any_of(e.items.begin(), e.items.end(), is_list);
}

// "b_%d" % 2, "a" == "b": Python's.
bool IsTextOperation(const PyExpr& e) {
  if (e.kind != PyExprKind::kBinary && e.kind != PyExprKind::kCompare) return false;
  return e.items[0]->kind == PyExprKind::kString || IsTextOperation(*e.items[0]);
}

}  // namespace

bool ExprBuilder::IsOfProgram(const PyExpr& e) const {
  bool has_name = false;
  if (e.kind == PyExprKind::kBinary && IsLiteral(e)) return true;
  if (IsTextOperation(e) || IsListOperation(e)) return true;
  return IsOperator(e.kind) && CollectNames(e, has_name) && has_name;
}

bool ExprBuilder::IsLiteral(const PyExpr& e) {
  switch (e.kind) {
    case PyExprKind::kInt:
    case PyExprKind::kFloat:
    case PyExprKind::kTrue:
    case PyExprKind::kFalse:
      return true;
    case PyExprKind::kUnary:
    case PyExprKind::kBinary:
    case PyExprKind::kCompare:
    case PyExprKind::kLogical:
      return std::all_of(e.items.begin(), e.items.end(), [](const PyExpr* item) { return IsLiteral(*item); });
    default:
      return false;
  }
}

StatusOr<std::optional<bool>> ExprBuilder::BuildStaticBool(const PyExpr& e) const {
  if (e.kind == PyExprKind::kTrue || e.kind == PyExprKind::kFalse) return std::optional(e.kind == PyExprKind::kTrue);
  const bool is_program = IsOfProgram(e) || IsLiteral(e);
  if (!is_program && e.kind != PyExprKind::kName && (context_->evaluator == nullptr || !IsOutside(e)))
    return std::optional<bool>();
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
  const Attr* attr = std::get_if<Attr>(&value);
  if (const bool* known = attr == nullptr ? nullptr : std::get_if<bool>(attr)) return std::optional(*known);
  const Expr* expr = std::get_if<Expr>(&value);
  const bool is_folded = is_program && expr != nullptr && expr->dtype() == DataType::Bool();
  const int64_t* known = is_folded ? AsIntConst(*expr) : nullptr;
  return known == nullptr ? std::optional<bool>() : std::optional(*known != 0);
}

StatusOr<const PyExpr*> ExprBuilder::ChosenOf(const PyExpr& e) const {
  const PyExpr* chosen = &e;
  while (chosen->kind == PyExprKind::kConditional) {
    ASSIGN_OR_RETURN(const std::optional<bool> known, BuildStaticBool(*chosen->items[1]));
    if (!known) break;
    chosen = chosen->items[*known ? 0 : 2];
  }
  return chosen;
}

ScriptScope ExprBuilder::ScopeOf(std::string_view text) const {
  ScriptScope scope;
  for (const std::string_view word : WordsOf(text)) {
    if (names_.IsConstant(word) && context_->around.contains(word)) continue;
    if (const NamedValue* value = names_.Find(word)) scope.emplace_back(word, *value);
  }
  return scope;
}

StatusOr<ScriptValue> ExprBuilder::Foreign(const PyExpr& e) const {
  StatusOr<ScriptValue> value = context_->evaluator->Evaluate(TextOf(e), e.begin, ScopeOf(TextOf(e)));
  return value.ok() ? std::move(value) : Error(e, value.status().message());
}

StatusOr<ScriptEffect> ExprBuilder::Run(const PyExpr& call) const {
  StatusOr<ScriptEffect> effect = context_->evaluator->Run(TextOf(call), call.begin, ScopeOf(TextOf(call)));
  return effect.ok() ? std::move(effect) : Error(call, effect.status().message());
}

StatusOr<Expr> ExprBuilder::ToExpr(const PyExpr& at, const ScriptValue& value) const {
  if (const Expr* expr = std::get_if<Expr>(&value)) return *expr;
  if (const DataType* type = std::get_if<DataType>(&value))
    return Expr::Make(DataType::Handle(), StringImm{type->ToString()});
  if (std::holds_alternative<Buffer>(value))
    return Error(at, fmt::format("expected a value, got buffer \"{}\"; index it", std::get<Buffer>(value)->name));
  if (const Attr* attr = std::get_if<Attr>(&value)) {
    if (const int64_t* number = std::get_if<int64_t>(attr)) return Expr(*number);
    if (const double* number = std::get_if<double>(attr)) return FloatConst(DataType::Float(32), *number);
    if (const bool* flag = std::get_if<bool>(attr)) return IntConst(DataType::Bool(), *flag);
    if (const std::string* text = std::get_if<std::string>(attr))
      return Expr::Make(DataType::Handle(), StringImm{*text});
    if (const Expr* expr = std::get_if<Expr>(attr)) return *expr;
  }
  if (const auto* object = std::get_if<std::shared_ptr<const HostObject>>(&value))
    return Error(at, fmt::format("expected a value, got {}", (*object)->Describe()));
  return Error(at, "expected a value, got a tuple, a region, a dict, a macro or None");
}

StatusOr<ScriptValue> ExprBuilder::BuildValue(const PyExpr& e) const {
  if (e.kind == PyExprKind::kName) {
    if (const NamedValue* value = names_.Find(e.text)) return *value;
    if (context_->evaluator != nullptr) return Foreign(e);
    return Error(e, fmt::format("expected a defined name, got \"{}\"", e.text));
  }
  const bool is_foreign = IsOutside(e) || IsOfProgram(e) || e.kind == PyExprKind::kDict;
  if (context_->evaluator != nullptr && is_foreign) return Foreign(e);
  if (e.kind == PyExprKind::kNone) return ScriptValue(Attr(std::monostate()));
  if (e.kind == PyExprKind::kTuple || e.kind == PyExprKind::kList) {
    std::vector<ScriptValue> items;
    for (const PyExpr* item : e.items) {
      ASSIGN_OR_RETURN(ScriptValue value, BuildValue(*item));
      items.push_back(std::move(value));
    }
    return ScriptValue(std::move(items));
  }
  if (e.kind == PyExprKind::kForeign || e.kind == PyExprKind::kLambda)
    return Error(e, "expected an expression of TVMScript; this one needs Python");
  if (e.kind == PyExprKind::kAttribute && (e.text == "shape" || e.text == "strides")) {
    if (const StatusOr<Buffer> buffer = BuildBufferUse(*e.items[0]); buffer.ok()) {
      const std::vector<Expr>& list = e.text == "shape" ? (*buffer)->shape : (*buffer)->strides;
      return ScriptValue(std::vector<ScriptValue>(list.begin(), list.end()));
    }
  }
  if (e.kind == PyExprKind::kSubscript && IsTuple(*e.items[0])) return BuildItem(e);
  ASSIGN_OR_RETURN(Expr built, Build(e));
  return ScriptValue(std::move(built));
}

// ---- Ranges, indices, regions --------------------------------------------------------------------------------------

Status ExprBuilder::CheckIndex(const PyExpr& at, const Expr& index, bool may_be_vector) const {
  if (!index.dtype().is_int()) return Error(at, fmt::format("expected an integer, got {}", index.dtype().ToString()));
  if (!may_be_vector && !index.dtype().is_scalar())
    return Error(at, fmt::format("expected a scalar, got {}", index.dtype().ToString()));
  return OkStatus();
}

StatusOr<Range> ExprBuilder::BuildEnds(const PyExpr& begin, const PyExpr& end) const {
  ASSIGN_OR_RETURN(Expr first, Build(begin));
  ASSIGN_OR_RETURN(Expr last, Build(end));
  return CheckedEnds(begin, first, end, last);
}

StatusOr<Range> ExprBuilder::CheckedEnds(const PyExpr& begin, Expr first, const PyExpr& end, Expr last) const {
  RETURN_IF_ERROR(CheckIndex(begin, first, false));
  RETURN_IF_ERROR(CheckIndex(end, last, false));
  MatchTypes(first, last);
  return RangeFromEnds(first, last);
}

StatusOr<Range> ExprBuilder::BuildRange(const PyExpr& e) const {
  if (e.kind == PyExprKind::kTuple || e.kind == PyExprKind::kList) {
    if (e.items.size() != 2) return Error(e, fmt::format("expected (begin, end), got {} values", e.items.size()));
    return BuildEnds(*e.items[0], *e.items[1]);
  }
  if (CalleeName(e) == "Range") {
    ASSIGN_OR_RETURN(const BoundArgs args, Bind(e, {"begin", "end", "extent"}, 1));
    if (args[2] == nullptr && args[1] != nullptr) return BuildEnds(*args[0], *args[1]);
    if (args[2] == nullptr || args[1] != nullptr)
      return Error(e, "expected T.Range(begin, end) or T.Range(begin, extent=...)");
    ASSIGN_OR_RETURN(Expr min, Build(*args[0]));
    ASSIGN_OR_RETURN(Expr extent, Build(*args[2]));
    RETURN_IF_ERROR(CheckIndex(*args[0], min, false));
    RETURN_IF_ERROR(CheckIndex(*args[2], extent, false));
    return Range{min, extent};
  }
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
  const auto* object = std::get_if<std::shared_ptr<const HostObject>>(&value);
  if (const auto range = object == nullptr ? std::nullopt : (*object)->AsRange()) return *range;
  const auto* ends = std::get_if<std::vector<ScriptValue>>(&value);
  if (ends != nullptr && ends->size() == 2) {
    ASSIGN_OR_RETURN(const Expr first, ToExpr(e, (*ends)[0]));
    ASSIGN_OR_RETURN(const Expr last, ToExpr(e, (*ends)[1]));
    return CheckedEnds(e, first, e, last);
  }
  ASSIGN_OR_RETURN(const Expr extent, ToExpr(e, value));
  RETURN_IF_ERROR(CheckIndex(e, extent, false));
  return Range{IntConst(extent.dtype(), 0), extent};
}

// A[begin:end], A[begin:end:stride]
StatusOr<Expr> ExprBuilder::BuildVectorIndex(const PyExpr& slice) const {
  if (slice.items[0]->kind == PyExprKind::kNone || slice.items[1]->kind == PyExprKind::kNone)
    return Error(slice, "expected begin and end of the slice");
  ASSIGN_OR_RETURN(const Range range, BuildRegionEnds(*slice.items[0], *slice.items[1]));
  Expr stride = IntConst(range.min.dtype(), 1);
  Expr extent = range.extent;
  if (slice.items.size() > 2) {
    ASSIGN_OR_RETURN(const int64_t step, BuildInt(*slice.items[2]));
    if (step < 1) return Error(*slice.items[2], fmt::format("expected a step from 1, got {}", step));
    stride = IntConst(range.min.dtype(), step);
    extent = FloorDiv(extent + IntConst(extent.dtype(), step - 1), IntConst(extent.dtype(), step));
  }
  const std::optional<DataType> type = TypeOfLanes(range.min.dtype(), extent);
  if (!type) return Error(slice, "expected a slice of constant length; elsewhere than in regions it is a vector");
  if (type->is_scalar()) return range.min;
  return Expr::Make(*type, Ramp{range.min, stride, type->lanes});
}

StatusOr<std::vector<Expr>> ExprBuilder::BuildIndices(const Buffer& buffer, const PyExpr& subscript) const {
  std::vector<const PyExpr*> items(subscript.items.begin() + 1, subscript.items.end());
  if (items.size() == 1 && (items[0]->kind == PyExprKind::kTuple || items[0]->kind == PyExprKind::kList))
    items = items[0]->items;
  std::vector<Expr> indices;
  std::vector<const PyExpr*> places;
  for (const PyExpr* item : items) {
    if (item->kind == PyExprKind::kSlice) {
      ASSIGN_OR_RETURN(Expr index, BuildVectorIndex(*item));
      indices.push_back(std::move(index));
    } else {
      ASSIGN_OR_RETURN(const std::vector<Expr> several, BuildList(*item));
      indices.insert(indices.end(), several.begin(), several.end());
    }
    places.resize(indices.size(), item);
  }
  const bool is_flat = indices.size() == 1 && block_depth_ == 0 && context_->evaluator == nullptr;
  if (indices.size() != buffer->shape.size() && !is_flat) {
    return Error(subscript, fmt::format("expected {} indices of buffer \"{}\", got {}", buffer->shape.size(),
                                        buffer->name, indices.size()));
  }
  for (size_t i = 0; i < indices.size(); ++i)
    RETURN_IF_ERROR(CheckIndex(*places[i], indices[i], i + 1 == indices.size()));
  if (!indices.empty() && int64_t{indices.back().dtype().lanes} * buffer->dtype.lanes > kMaxLanes) {
    return Error(subscript, fmt::format("expected at most {} lanes", kMaxLanes));
  }
  return indices;
}

// TVM's parser simplifies the extent; a stored text stands for the tree that it was printed from.
StatusOr<Range> ExprBuilder::BuildRegionEnds(const PyExpr& begin, const PyExpr& end) const {
  ASSIGN_OR_RETURN(Range range, BuildEnds(begin, end));
  if (context_->evaluator != nullptr) range.extent = Simplifier().Simplify(range.extent);
  return range;
}

StatusOr<Range> ExprBuilder::BuildRegionDim(const PyExpr& e, const Expr& shape) const {
  if (CalleeName(e) == "Range") return BuildRange(e);
  if (e.kind == PyExprKind::kSlice && e.items.size() > 2) {
    ASSIGN_OR_RETURN(const int64_t step, BuildInt(*e.items[2]));
    if (step != 1) return Error(*e.items[2], "expected a region without a step");
  }
  if (e.kind != PyExprKind::kSlice) {
    ASSIGN_OR_RETURN(Expr point, Build(e));
    RETURN_IF_ERROR(CheckIndex(e, point, false));
    return Range{point, IntConst(point.dtype(), 1)};
  }
  const bool has_begin = e.items[0]->kind != PyExprKind::kNone, has_end = e.items[1]->kind != PyExprKind::kNone;
  if (has_begin && has_end) return BuildRegionEnds(*e.items[0], *e.items[1]);
  if (!has_begin && !has_end) return Range{IntConst(shape.dtype(), 0), shape};
  if (!has_begin) return BuildRange(*e.items[1]);
  ASSIGN_OR_RETURN(Expr begin, Build(*e.items[0]));
  RETURN_IF_ERROR(CheckIndex(e, begin, false));
  return Range{begin, shape - begin};
}

Status ExprBuilder::Append(const PyExpr& at, const ScriptValue& value, std::vector<BufferRegion>& list) const {
  const auto* items = std::get_if<std::vector<ScriptValue>>(&value);
  const Expr* e = std::get_if<Expr>(&value);
  const BufferLoad* load = e == nullptr ? nullptr : e->As<BufferLoad>();
  if (const Buffer* buffer = std::get_if<Buffer>(&value)) {
    list.push_back(FullRegion(*buffer));
  } else if (const BufferRegion* region = std::get_if<BufferRegion>(&value)) {
    list.push_back(*region);
  } else if (load != nullptr) {
    BufferRegion& part = list.emplace_back(BufferRegion{load->buffer, {}});
    for (const Expr& index : load->indices) {
      const Ramp* slice = index.As<Ramp>();  // The program has written A[v, 0:8].
      const bool is_run = slice != nullptr && IsConstInt(slice->stride, 1);
      part.region.push_back(is_run ? Range{slice->base, IntConst(slice->base.dtype(), index.dtype().lanes)}
                                   : Range{index, IntConst(index.dtype(), 1)});
    }
  } else if (items == nullptr) {
    const Status problem = BuildBufferUse(at).status();
    return problem.ok() ? Error(at, "expected parts of buffers") : problem;
  } else {
    for (const ScriptValue& item : *items) RETURN_IF_ERROR(Append(at, item, list));
  }
  return OkStatus();
}

StatusOr<std::vector<BufferRegion>> ExprBuilder::BuildRegions(const PyExpr& e) const {
  if (e.kind == PyExprKind::kStar) return BuildRegions(*e.items[0]);
  ASSIGN_OR_RETURN(const PyExpr* const chosen, ChosenOf(e));
  if (chosen != &e) return BuildRegions(*chosen);
  std::vector<BufferRegion> regions;
  if (e.kind == PyExprKind::kList || e.kind == PyExprKind::kTuple) {
    for (const PyExpr* item : e.items) {
      ASSIGN_OR_RETURN(const std::vector<BufferRegion> more, BuildRegions(*item));
      regions.insert(regions.end(), more.begin(), more.end());
    }
  } else if (e.kind == PyExprKind::kName || (context_->evaluator != nullptr && (IsOutside(e) || IsListOperation(e)))) {
    ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
    RETURN_IF_ERROR(Append(e, value, regions));
  } else {
    ASSIGN_OR_RETURN(BufferRegion region, BuildRegion(e));
    regions.push_back(std::move(region));
  }
  return regions;
}

StatusOr<BufferRegion> ExprBuilder::BuildRegion(const PyExpr& e) const {
  if (e.kind != PyExprKind::kSubscript || (context_->evaluator != nullptr && IsOutside(e))) {
    ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
    std::vector<BufferRegion> regions;
    RETURN_IF_ERROR(Append(e, value, regions));
    if (regions.size() != 1) return Error(e, fmt::format("expected one part of a buffer, got {}", regions.size()));
    return regions[0];
  }
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBufferUse(*e.items[0]));
  std::vector<const PyExpr*> items(e.items.begin() + 1, e.items.end());
  if (items.size() == 1 && items[0]->kind == PyExprKind::kTuple) items = items[0]->items;
  if (items.size() != buffer->shape.size()) {
    return Error(e, fmt::format("expected {} indices of buffer \"{}\", got {}", buffer->shape.size(), buffer->name,
                                items.size()));
  }
  BufferRegion region{buffer, {}};
  for (size_t i = 0; i < items.size(); ++i) {
    ASSIGN_OR_RETURN(Range range, BuildRegionDim(*items[i], buffer->shape[i]));
    region.region.push_back(std::move(range));
  }
  return region;
}

StatusOr<std::vector<Expr>> ExprBuilder::BuildList(const PyExpr& e) const {
  std::vector<Expr> list;
  for (const PyExpr* item : Elements(e)) {
    const PyExpr& value = item->kind == PyExprKind::kStar ? *item->items[0] : *item;
    if (item->kind != PyExprKind::kStar && value.kind != PyExprKind::kName && !MayBeForeign(value)) {
      ASSIGN_OR_RETURN(Expr built, Build(value));
      list.push_back(std::move(built));
      continue;
    }
    ASSIGN_OR_RETURN(const ScriptValue known, BuildValue(value));  // May be several.
    RETURN_IF_ERROR(Append(value, known, list));
  }
  return list;
}

// A tuple one by one, an array of the program, too.
Status ExprBuilder::Append(const PyExpr& at, const ScriptValue& value, std::vector<Expr>& list) const {
  const auto* object = std::get_if<std::shared_ptr<const HostObject>>(&value);
  if (const auto numbers = object == nullptr ? std::nullopt : (*object)->Numbers())
    return Append(at, std::vector<ScriptValue>(numbers->begin(), numbers->end()), list);
  const auto* items = std::get_if<std::vector<ScriptValue>>(&value);
  if (items == nullptr) {
    ASSIGN_OR_RETURN(Expr one, ToExpr(at, value));
    list.push_back(std::move(one));
    return OkStatus();
  }
  for (const ScriptValue& item : *items) {
    ASSIGN_OR_RETURN(Expr one, ToExpr(at, item));
    list.push_back(std::move(one));
  }
  return OkStatus();
}

// ---- Operators -----------------------------------------------------------------------------------------------------

StatusOr<Expr> ExprBuilder::Build(const PyExpr& e) const {
  if (context_->evaluator != nullptr && (IsOutside(e) || IsOfProgram(e))) return BuildName(e);
  switch (e.kind) {
    case PyExprKind::kName:
      return BuildName(e);
    case PyExprKind::kInt:
      if (e.int_value > uint64_t{INT64_MAX})
        return Error(e, fmt::format("expected an integer of int64, got {}; write T.uint64({})", e.text, e.text));
      return Expr(static_cast<int64_t>(e.int_value));
    case PyExprKind::kFloat:
      return FloatConst(DataType::Float(32), e.float_value);
    case PyExprKind::kString:
      return Expr::Make(DataType::Handle(), StringImm{e.string_value});
    case PyExprKind::kTrue:
      return True();
    case PyExprKind::kFalse:
      return IntConst(DataType::Bool(), 0);
    case PyExprKind::kAttribute:
      return BuildAttribute(e);
    case PyExprKind::kConditional:
      return BuildConditional(e);
    case PyExprKind::kForeign:
    case PyExprKind::kLambda:
      return BuildName(e);
    case PyExprKind::kCall:
      return BuildCall(e);
    case PyExprKind::kSubscript:
      return BuildLoad(e);
    case PyExprKind::kUnary:
      return BuildUnary(e);
    case PyExprKind::kBinary:
      return BuildBinary(e);
    case PyExprKind::kCompare:
      return BuildCompare(e);
    case PyExprKind::kLogical:
      return BuildLogical(e);
    default:
      return Error(e, "expected a value");
  }
}

// A name, and whatever else may be no expression.
StatusOr<Expr> ExprBuilder::BuildName(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(e));
  return ToExpr(e, value);
}

// A.data, A.elem_offset, A.dtype, x.dtype
StatusOr<Expr> ExprBuilder::BuildAttribute(const PyExpr& e) const {
  const PyExpr& object = *e.items[0];
  const auto text = [](std::string value) { return Expr::Make(DataType::Handle(), StringImm{std::move(value)}); };
  const NamedValue* value = object.kind == PyExprKind::kName ? names_.Find(object.text) : nullptr;
  const Buffer* buffer = value == nullptr ? nullptr : std::get_if<Buffer>(value);
  if (buffer != nullptr && e.text == "data") return Expr((*buffer)->data);
  if (buffer != nullptr && e.text == "elem_offset") return (*buffer)->elem_offset;
  if (buffer != nullptr && e.text == "dtype") return text((*buffer)->dtype.ToString());
  if (value != nullptr && std::holds_alternative<Expr>(*value) && e.text == "dtype")
    return text(std::get<Expr>(*value).dtype().ToString());
  return Error(e,
               buffer != nullptr
                   ? fmt::format("expected data, elem_offset, dtype, shape or strides of a buffer, got \"{}\"", e.text)
                   : fmt::format("expected an attribute of a buffer or a value, got \"{}\"", e.text));
}

// a if c else b
StatusOr<Expr> ExprBuilder::BuildConditional(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const Expr condition, Build(*e.items[1]));
  if (!condition.dtype().is_bool())
    return Error(*e.items[1], fmt::format("expected a boolean, got {}", condition.dtype().ToString()));
  if (const int64_t* known = AsIntConst(condition)) return Build(*e.items[*known != 0 ? 0 : 2]);
  ASSIGN_OR_RETURN(const Expr a, Build(*e.items[0]));
  ASSIGN_OR_RETURN(const Expr b, Build(*e.items[2]));
  return At(e, FoldCall(*FindOp("if_then_else"), {condition, a, b}));
}

StatusOr<Expr> ExprBuilder::BuildUnary(const PyExpr& e) const {
  const PyExpr& operand = *e.items[0];
  if (e.text == "not") return BuildNot(e, operand, IsLiteral(operand));
  if (e.text == "-" && operand.kind == PyExprKind::kInt) {
    if (operand.int_value > uint64_t{1} << 63)
      return Error(e, fmt::format("expected an integer of int64, got -{}", operand.text));
    return Expr(static_cast<int64_t>(0 - operand.int_value));
  }
  ASSIGN_OR_RETURN(const Expr value, Build(operand));
  const DataType type = value.dtype();
  if (!type.is_int() && !type.is_float() && !type.is_bool())
    return Error(operand, fmt::format("expected a number, got {}", type.ToString()));
  if (e.text == "+") return value;
  if (e.text == "~") return type.is_bool() ? MakeNot(value) : At(e, FoldCall(*FindOp("bitwise_not"), {value}));
  if (const FloatImm* number = value.As<FloatImm>()) return FloatConst(type, -number->value);
  if (type.is_bool()) return Error(operand, "expected a number, got a boolean");
  const DataType element = type.element();
  return Combine(e, BinaryOp::kMul, value, type.is_float() ? FloatConst(element, -1) : IntConst(element, -1));
}

StatusOr<Expr> ExprBuilder::Combine(const PyExpr& at, BinaryOp op, const Expr& a, const Expr& b, bool fold) const {
  if (fold) return At(at, FoldOperator(op, a, b));
  const bool are_numbers = a.dtype().lanes == b.dtype().lanes && a.dtype().code != DataType::Code::kHandle;
  if (are_numbers && a.dtype() != b.dtype())
    return Error(
        at, fmt::format("mismatched types: {} and {}; cast one of them", a.dtype().ToString(), b.dtype().ToString()));
  return At(at, CombineExprs(op, a, b, false));
}

StatusOr<Expr> ExprBuilder::BuildBinary(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const Expr a, Build(*e.items[0]));
  ASSIGN_OR_RETURN(const Expr b, Build(*e.items[1]));
  return Infix(e, e.text, a, b);
}

StatusOr<Expr> ExprBuilder::Infix(const PyExpr& at, std::string_view text, const Expr& a, const Expr& b) const {
  if (const std::optional<BinaryOp> op = InfixOp(text)) {
    if (*op == BinaryOp::kDiv && a.dtype().is_signed_int() && b.dtype().is_signed_int()) {
      return Error(at, fmt::format("expected floats around \"/\", got {} and {}; write \"//\" or T.truncdiv",
                                   a.dtype().ToString(), b.dtype().ToString()));
    }
    return Combine(at, *op, a, b);
  }
  const Op* op = FindOp(BitwiseOp(text));
  if (op == nullptr) return Error(at, fmt::format("expected an operator of TensorIR, got \"{}\"; write T.pow", text));
  return At(at, FoldCall(*op, {a, b}));
}

// A comparison is the node itself, of constants too; a literal takes the type of what it is compared with.
StatusOr<Expr> ExprBuilder::Compare(const PyExpr& at, BinaryOp op, Expr a, Expr b) const {
  if (IsLiteral(at)) return Combine(at, op, a, b);
  for (auto [literal, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const bool is_literal = literal->dtype() == kIndexType
                                ? literal->As<IntImm>() != nullptr
                                : literal->As<FloatImm>() != nullptr && literal->dtype() == DataType::Float(32);
    const bool takes =
        is_literal && (other->dtype().is_float() || (literal->dtype().is_int() && other->dtype().is_int()));
    if (!takes) continue;
    ASSIGN_OR_RETURN(*literal, Convert(at, other->dtype().element(), *literal));
  }
  if (a.dtype().element() == b.dtype().element()) MatchAsTvm(a, b);
  return Combine(at, op, std::move(a), std::move(b), false);
}

StatusOr<Expr> ExprBuilder::BuildCompare(const PyExpr& e) const {
  std::optional<Expr> result;
  ASSIGN_OR_RETURN(Expr left, Build(*e.items[0]));
  for (size_t i = 1; i < e.items.size(); ++i) {
    ASSIGN_OR_RETURN(const Expr right, Build(*e.items[i]));
    ASSIGN_OR_RETURN(const Expr one, Compare(e, *InfixOp(e.operators[i - 1]), left, right));
    if (result) {
      ASSIGN_OR_RETURN(result, Combine(e, BinaryOp::kAnd, *result, one, IsLiteral(e)));
    } else {
      result = one;
    }
    left = right;
  }
  return *result;
}

StatusOr<Expr> ExprBuilder::BuildLogical(const PyExpr& e) const {
  ASSIGN_OR_RETURN(Expr result, Build(*e.items[0]));
  for (size_t i = 1; i < e.items.size(); ++i) {
    ASSIGN_OR_RETURN(const Expr next, Build(*e.items[i]));
    ASSIGN_OR_RETURN(result, Combine(e, e.text == "and" ? BinaryOp::kAnd : BinaryOp::kOr, result, next, IsLiteral(e)));
  }
  return result;
}

StatusOr<Expr> ExprBuilder::BuildLoad(const PyExpr& e) const {
  if (IsTuple(*e.items[0])) {
    ASSIGN_OR_RETURN(const ScriptValue item, BuildItem(e));
    return ToExpr(e, item);
  }
  ASSIGN_OR_RETURN(const Buffer buffer, BuildBufferUse(*e.items[0]));
  ASSIGN_OR_RETURN(std::vector<Expr> indices, BuildIndices(buffer, e));
  return Load(buffer, std::move(indices));
}

bool ExprBuilder::IsTuple(const PyExpr& e) const {
  if (e.kind == PyExprKind::kAttribute) return e.text == "shape" || e.text == "strides";
  const NamedValue* value = e.kind == PyExprKind::kName ? names_.Find(e.text) : nullptr;
  return value != nullptr && std::holds_alternative<std::vector<ScriptValue>>(*value);
}

// A.shape[0]: an element of a tuple.
StatusOr<ScriptValue> ExprBuilder::BuildItem(const PyExpr& e) const {
  ASSIGN_OR_RETURN(const ScriptValue value, BuildValue(*e.items[0]));
  const auto* items = std::get_if<std::vector<ScriptValue>>(&value);
  if (items == nullptr || e.items.size() != 2) return Error(e, "expected one index of a tuple");
  ASSIGN_OR_RETURN(int64_t index, BuildInt(*e.items[1]));
  const auto size = static_cast<int64_t>(items->size());
  if (index < 0) index += size;
  if (index < 0 || index >= size)
    return Error(*e.items[1], fmt::format("expected an index below {}, got {}", size, index));
  return (*items)[static_cast<size_t>(index)];
}

StatusOr<Expr> ExprBuilder::BuildNot(const PyExpr& at, const PyExpr& operand, bool fold) const {
  ASSIGN_OR_RETURN(const Expr value, Build(operand));
  if (!value.dtype().is_bool())
    return Error(at, fmt::format("expected a boolean after \"not\", got {}", value.dtype().ToString()));
  return fold ? MakeNot(value) : Expr::Make(value.dtype(), Not{value});
}

StatusOr<Expr> ExprBuilder::Convert(const PyExpr& at, DataType type, const Expr& value) const {
  return At(at, FoldCast(type, value));
}

}  // namespace lathe
