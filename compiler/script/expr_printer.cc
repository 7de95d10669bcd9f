#include "compiler/script/expr_printer.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "compiler/ir/structural.h"
#include "compiler/script/dialect.h"
#include "compiler/script/operator_rules.h"

namespace lathe {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsReserved(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "False",    "None",  "True",   "and",  "as",   "assert", "async",    "await", "break", "class",
      "continue", "def",   "del",    "elif", "else", "except", "finally",  "float", "for",   "from",
      "global",   "if",    "import", "in",   "is",   "lambda", "nonlocal", "not",   "or",    "pass",
      "raise",    "range", "return", "tir",  "try",  "tvm",    "while",    "with",  "yield"};
  return std::binary_search(std::begin(kWords), std::end(kWords), name);
}

std::string Sanitize(std::string_view hint) {
  std::string name(hint);
  for (char& c : name) {
    if (!IsNameChar(c)) c = '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name.insert(0, "v");
  if (IsReserved(name)) name += '_';
  return name;
}

// Of "\n" and the like; 0: it has none.
char EscapeLetter(char c) { return c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : 0; }

}  // namespace

bool IsIdentifier(std::string_view text) { return Sanitize(text) == text && text != "I" && text != "R" && text != "T"; }

std::string_view DialectOf(const PrintOptions& options) {
  return options.spelling == Spelling::kToday ? "tirx" : "tir";
}

std::string QuotedString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (const char letter = EscapeLetter(c); letter != 0) {
      out += '\\';
      out += letter;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", c);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string PrintFloat(double value) {
  if (std::isnan(value)) {
    const uint64_t bits = std::bit_cast<uint64_t>(value), sign = uint64_t{1} << 63;
    const std::string_view minus = (bits & sign) != 0 ? "-" : "";
    if ((bits & ~sign) == 0x7ff8000000000000u) return fmt::format("\"{}nan\"", minus);
    return fmt::format("\"{}nan(0x{:x})\"", minus, bits & ~sign);
  }
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string PrintFloatAsTvm(double value) {
  if (!std::isfinite(value)) return PrintFloat(value);
  return std::nearbyint(value) == value ? fmt::format("{:.1f}", value) : fmt::format("{:.17g}", value);
}

std::string PrintPlainAttr(const Attr& attr) {
  if (const int64_t* value = std::get_if<int64_t>(&attr)) return std::to_string(*value);
  if (const bool* value = std::get_if<bool>(&attr)) return *value ? "True" : "False";
  if (const std::string* value = std::get_if<std::string>(&attr)) return QuotedString(*value);
  if (const double* value = std::get_if<double>(&attr))
    return std::isfinite(*value) ? PrintFloat(*value) : fmt::format("T.float32({})", PrintFloat(*value));
  return "None";
}

// ---- Names ---------------------------------------------------------------------------------------------------------

std::string NameGiver::Fresh(std::string_view hint) { return Define(nullptr, hint); }
std::string NameGiver::Define(const void* node, std::string_view hint) {
  const std::string base = Sanitize(hint);
  std::string name = base;
  for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  if (node != nullptr) names_.insert_or_assign(node, name);
  defined_.emplace_back(node, name);
  return name;
}
void NameGiver::DefineAs(const void* node, std::string text) {
  names_.insert_or_assign(node, std::move(text));
  defined_.emplace_back(node, "");
}
std::string NameGiver::DefineForAll(const void* node, std::string_view hint) {
  std::string name = Define(node, hint);
  defined_.pop_back();
  return name;
}
void NameGiver::DefineForAllAs(const void* node, std::string text) { names_.insert_or_assign(node, std::move(text)); }
std::string NameGiver::DefineForSuite(const void* node, std::string_view hint) {
  std::string name = Define(node, hint);
  defined_.pop_back();
  kept_.push_back({node, name, -1});
  return name;
}
void NameGiver::KeepAt(int level) {
  for (auto kept = kept_.rbegin(); kept != kept_.rend() && kept->level < 0; ++kept) kept->level = level;
}
void NameGiver::ForgetFrom(int level) {
  for (; !kept_.empty() && kept_.back().level >= level; kept_.pop_back()) {
    taken_.erase(kept_.back().name);
    names_.erase(kept_.back().node);
  }
}
const std::string* NameGiver::Find(const void* node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? nullptr : &found->second;
}
void NameGiver::Close(size_t mark) {
  for (; defined_.size() > mark; defined_.pop_back()) {
    taken_.erase(defined_.back().second);
    names_.erase(defined_.back().first);
  }
}

std::string ExprPrinter::NameOf(const Expr& var) {
  if (const std::string* known = names_.Find(var.get())) return *known;
  unnamed_.push_back(Var(var));
  return names_.DefineForAll(var.get(), var.As<VarName>()->name);
}
std::string ExprPrinter::NameOf(const Buffer& buffer) {
  if (const std::string* known = names_.Find(buffer.get())) return *known;
  unnamed_.push_back(buffer);
  std::string name = names_.DefineForAll(buffer.get(), buffer->name);
  const void* data = buffer->data.get();
  if (options_.as_tvm && names_.Find(data) == nullptr) names_.DefineForAllAs(data, name + ".data");
  return name;
}

std::string ExprPrinter::PrintVarType(const Var& var) {
  const PointerType* pointer = var.pointer();
  if (var.As<VarName>()->is_size) return fmt::format("T.{}(is_size_var=True)", var.dtype().ToString());
  if (pointer == nullptr) return "T." + var.dtype().ToString();
  const bool has_scope = !options_.as_tvm || !pointer->scope.empty();
  return fmt::format("T.handle(\"{}\"{})", pointer->element.ToString(),
                     has_scope ? ", " + QuotedString(pointer->scope) : "");
}
std::string ExprPrinter::DeclarationOf(const Var& var) {
  const std::string type = PrintVarType(var);
  return type.ends_with(")") ? type : type + "()";
}
std::string ExprPrinter::Declare(const Var& var) {
  if (const std::string* known = names_.Find(var.get())) return *known;
  const std::string name = names_.DefineForSuite(var.get(), var.name());
  declarations_.push_back(fmt::format("{} = {}", name, DeclarationOf(var)));
  return name;
}

std::string ExprPrinter::PrintAttr(const Attr& attr) {
  if (const Expr* e = std::get_if<Expr>(&attr)) return Print(*e);
  if (const AttrMap* map = std::get_if<AttrMap>(&attr)) {
    const auto target = map->find("T.target");
    if (target != map->end() && map->size() == 1) return fmt::format("T.target({})", PrintAttr(target->second));
    if (target != map->end() && map->size() == 2 && map->contains("host"))
      return fmt::format("T.target({}, host={})", PrintAttr(target->second), PrintAttr(map->at("host")));
    return PrintAttrs(*map);
  }
  const auto* list = std::get_if<std::vector<Attr>>(&attr);
  if (list == nullptr) return PrintPlainAttr(attr);
  std::string text = "[";
  for (const Attr& item : *list) text += (text.size() > 1 ? ", " : "") + PrintAttr(item);
  return text + "]";
}
std::string ExprPrinter::PrintAttrs(const AttrMap& attrs) {
  std::string text = "{";
  for (const auto& [key, value] : attrs)
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", QuotedString(key), PrintAttr(value));
  return text + "}";
}
std::string ExprPrinter::PrintIterVar(const IterVar& axis) {
  const std::string domain = options_.as_tvm ? PrintTvmDomain(axis.domain) : PrintDomain(axis.domain);
  const std::string name = Declare(axis.var);
  return fmt::format("T.iter_var({}, {}, \"{}\", {})", name, domain, NameOfAxisType(axis.kind),
                     QuotedString(axis.thread_tag));
}

// ---- Expressions ---------------------------------------------------------------------------------------------------

std::string ExprPrinter::PrintList(const std::vector<Expr>& list) {
  std::string text;
  for (const Expr& e : list) text += (text.empty() ? "" : ", ") + Print(e);
  return text;
}
std::string ExprPrinter::PrintTuple(const std::vector<Expr>& list) {
  return fmt::format("({}{})", PrintList(list), list.size() == 1 ? "," : "");
}
std::string ExprPrinter::PrintAccess(const Buffer& buffer, const std::vector<Expr>& indices) {
  const std::string name = NameOf(buffer);
  std::string text;
  for (const Expr& index : indices) {
    const std::optional<std::string> slice = PrintSlice(index);
    text += (text.empty() ? "" : ", ") + (slice ? *slice : Print(index));
  }
  return fmt::format("{}[{}]", name, indices.empty() ? "()" : text);
}
// As TVM 0.18: i * 4:i * 4 + 4. Today's TVM reads no slices as values.
std::optional<std::string> ExprPrinter::PrintSlice(const Expr& index) {
  const Ramp* ramp = index.As<Ramp>();
  const int64_t* step = ramp == nullptr ? nullptr : AsIntConst(ramp->stride);
  if (step == nullptr || *step < 1 || !options_.as_tvm || options_.spelling == Spelling::kToday) return std::nullopt;
  const Expr length = MakeCast(ramp->base.dtype(), LanesOf(index.dtype())) * ramp->stride;
  const std::string begin = Print(ramp->base), end = Print(*EndOf({ramp->base, length}));
  return fmt::format("{}:{}{}", begin, end, *step == 1 ? "" : ":" + Print(ramp->stride));
}

std::string ExprPrinter::PrintRegionDim(const Range& range) {
  if (IsConstInt(range.extent, 1) && range.extent.dtype() == range.min.dtype()) return Print(range.min);
  if (const std::optional<Expr> end = EndOf(range)) return fmt::format("{}:{}", Print(range.min), Print(*end));
  return fmt::format("T.Range({}, extent={})", Print(range.min), Print(range.extent));
}
std::string ExprPrinter::PrintRegion(const BufferRegion& region) {
  const std::string name = NameOf(region.buffer);
  std::string dims;
  for (const Range& range : region.region) dims += (dims.empty() ? "" : ", ") + PrintRegionDim(range);
  return fmt::format("{}[{}]", name, dims.empty() ? "()" : dims);
}
std::string ExprPrinter::PrintDomain(const Range& range) {
  if (IsConstInt(range.min, 0) && range.min.dtype() == range.extent.dtype()) return Print(range.extent);
  if (const std::optional<Expr> end = EndOf(range)) return fmt::format("({}, {})", Print(range.min), Print(*end));
  return fmt::format("T.Range({}, extent={})", Print(range.min), Print(range.extent));
}

// T.Range(0, n); None for {0, 0}: nothing is known, as of threads whose launch says how many there are.
std::string ExprPrinter::PrintTvmDomain(const Range& range) {
  if (IsConstInt(range.min, 0) && IsConstInt(range.extent, 0)) return "None";
  const std::optional<Expr> end = EndOf(range);
  return fmt::format("T.Range({}, {}{})", Print(range.min), end ? "" : "extent=", Print(end.value_or(range.extent)));
}

std::string ExprPrinter::PrintInt(DataType type, int64_t value) {
  if (type == options_.int_dtype) return std::to_string(value);
  if (type.is_bool() && (value == 0 || value == 1)) return fmt::format("T.bool({})", value != 0 ? "True" : "False");
  if (type.code == DataType::Code::kUInt) return fmt::format("T.{}({})", type.ToString(), static_cast<uint64_t>(value));
  return fmt::format("T.{}({})", type.ToString(), value);
}

std::string ExprPrinter::PrintBinary(DataType type, const Binary& e, int needed) {
  const BinarySpelling& spelling = SpellingOf(e.op);
  const bool folds_to_itself = StaysAsItIs(type, e);
  if (folds_to_itself && HasInfix(e.op, e.a.dtype())) return PrintInfix(spelling, e, needed);
  const bool folding = folds_to_itself && !spelling.folding.empty() && e.op != BinaryOp::kDiv;  // T.Div, as TVM.
  return fmt::format("T.{}({})", folding ? spelling.folding : spelling.exact, PrintList({e.a, e.b}));
}

std::string ExprPrinter::PrintInfix(const BinarySpelling& spelling, const Binary& e, int needed) {
  const bool in_brackets = spelling.precedence < needed, is_comparison = spelling.precedence == kComparePrecedence;
  std::string text = in_brackets ? "(" : "";
  text += Print(e.a, spelling.precedence + (is_comparison ? 1 : 0));
  text += ' ';
  text += spelling.infix;
  text += ' ';
  text += Print(e.b, spelling.precedence + 1);
  if (in_brackets) text += ')';
  return text;
}

std::string ExprPrinter::PrintCall(DataType type, const Call& call) {
  if (call.op->name == "tvm_struct_get")
    return fmt::format("T.tvm_struct_get({}, \"{}\")", PrintList(call.args), type.ToString());
  if (call.op->name.starts_with("tvm_call_") && type == kIndexType)
    return fmt::format("T.{}({})", call.op->name.substr(4), PrintList(call.args));
  const bool stays = StaysAsItIs(type, call);
  if (stays && TakesTypeFirst(*call.op)) {
    return fmt::format("T.{}(\"{}\"{}{})", call.op->name, type.ToString(), call.args.empty() ? "" : ", ",
                       PrintList(call.args));
  }
  const std::string_view name = options_.as_tvm ? TvmNameOf(*call.op) : call.op->name;
  if (stays) return fmt::format("T.{}({})", name, PrintList(call.args));
  return fmt::format("T.call_intrin(\"{}\", \"{}.{}\"{}{})", type.ToString(), DialectOf(options_), name,
                     call.args.empty() ? "" : ", ", PrintList(call.args));
}

std::string ExprPrinter::PrintFloatOf(DataType type, double value) {
  const std::string text = options_.as_tvm ? PrintFloatAsTvm(value) : PrintFloat(value);
  return type == options_.float_dtype && std::isfinite(value) ? text : fmt::format("T.{}({})", type.ToString(), text);
}

// The parts that recurse stand in functions of their own, so that a deep tree fits the stack.
std::string ExprPrinter::Print(const Expr& e, int needed) {
  const ExprVariant& node = e.node().value;
  if (const IntImm* imm = std::get_if<IntImm>(&node)) return PrintInt(e.dtype(), imm->value);
  if (const FloatImm* imm = std::get_if<FloatImm>(&node)) return PrintFloatOf(e.dtype(), imm->value);
  if (const StringImm* imm = std::get_if<StringImm>(&node)) return QuotedString(imm->value);
  if (std::holds_alternative<VarName>(node)) return NameOf(e);
  if (const Binary* binary = std::get_if<Binary>(&node)) return PrintBinary(e.dtype(), *binary, needed);
  if (const Call* call = std::get_if<Call>(&node)) return PrintCall(e.dtype(), *call);
  if (const BufferLoad* load = std::get_if<BufferLoad>(&node)) return PrintLoad(*load);
  return PrintOther(e, needed);
}

std::string ExprPrinter::PrintOther(const Expr& e, int needed) {
  if (const Not* negation = e.As<Not>()) {
    if (AsIntConst(negation->a) != nullptr) return fmt::format("T.Not({})", Print(negation->a));
    const std::string text = "not " + Print(negation->a, kNotPrecedence);
    return kNotPrecedence < needed ? "(" + text + ")" : text;
  }
  if (const Cast* cast = e.As<Cast>())
    return fmt::format("T.Cast(\"{}\", {})", e.dtype().ToString(), Print(cast->value));
  if (const Select* select = e.As<Select>())
    return fmt::format("T.Select({})", PrintList({select->condition, select->true_value, select->false_value}));
  if (const Ramp* ramp = e.As<Ramp>())
    return fmt::format("T.Ramp({}, {})", PrintList({ramp->base, ramp->stride}), PrintLanes(e.dtype()));
  if (const Let* let = e.As<Let>()) return PrintLet(*let);
  if (const Shuffle* shuffle = e.As<Shuffle>())
    return fmt::format("T.Shuffle([{}], [{}])", PrintList(shuffle->vectors), PrintList(shuffle->indices));
  if (const FuncCall* call = e.As<FuncCall>()) return PrintFuncCall(e.dtype(), *call);
  if (const Reduce* reduce = e.As<Reduce>()) return PrintReduce(*reduce);
  const Broadcast* broadcast = e.As<Broadcast>();
  CHECK(broadcast != nullptr) << "an expression of another kind";
  return fmt::format("T.Broadcast({}, {})", Print(broadcast->value), PrintLanes(e.dtype()));
}

std::string ExprPrinter::PrintLanes(DataType type) {
  return type.is_scalable ? fmt::format("T.vscale() * {}", type.lanes) : std::to_string(type.lanes);
}

std::string ExprPrinter::PrintLoad(const BufferLoad& load) {
  if (!load.predicate) return PrintAccess(load.buffer, load.indices);
  return fmt::format("{}.vload([{}], predicate={})", NameOf(load.buffer), PrintList(load.indices),
                     Print(*load.predicate));
}

std::string ExprPrinter::PrintLet(const Let& let) {
  const std::string value = Print(let.value), name = Declare(let.var);
  return fmt::format("T.Let({}, where={{{}: {}}})", Print(let.body), name, value);
}

std::string ExprPrinter::PrintFuncCall(DataType type, const FuncCall& call) {
  std::string args = PrintList(call.args);
  if (type != DataType::Void() && !options_.as_tvm)
    args += fmt::format("{}dtype=\"{}\"", args.empty() ? "" : ", ", type.ToString());
  return fmt::format("Module.{}({})", call.callee, args);
}

std::string ExprPrinter::PrintReducer(const CommReducer& reducer) {
  const size_t mark = names_.Open();
  std::string params;
  for (const std::vector<Var>* side : {&reducer.lhs, &reducer.rhs}) {
    for (const Var& var : *side) params += (params.empty() ? "" : ", ") + names_.Define(var.get(), var.name());
  }
  const std::string result = PrintList(reducer.result);
  const bool is_tuple = reducer.result.size() != 1;
  const std::string identity = PrintList(reducer.identity_element);
  names_.Close(mark);
  return fmt::format("T.comm_reducer(lambda {}: {}{}{}, [{}])", params, is_tuple ? "(" : "", result,
                     is_tuple ? ")" : "", identity);
}

std::string ExprPrinter::PrintReduce(const Reduce& reduce) {
  const std::string reducer = PrintReducer(reduce.combiner);
  std::string axes;
  for (const IterVar& axis : reduce.axis) axes += (axes.empty() ? "" : ", ") + PrintIterVar(axis);
  const std::string source = PrintList(reduce.source), init = PrintList(reduce.init);
  const char* form = options_.as_tvm
                         ? "T.reduce({0}, source=[{1}], init=[{5}], axis=[{2}], condition={3}, value_index={4})"
                         : "T.Reduce({0}, [{1}], [{2}], {3}, {4}, [{5}])";
  return fmt::format(fmt::runtime(form), reducer, source, axes, Print(reduce.condition), reduce.value_index, init);
}

}  // namespace lathe
