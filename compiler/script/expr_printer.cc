#include "compiler/script/expr_printer.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "compiler/ir/structural.h"
#include "compiler/script/dialect.h"

namespace lathe {
namespace {

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool IsReserved(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "False", "I",      "None",     "R",      "T",   "True", "and",    "as",       "assert",  "async", "await",
      "break", "class",  "continue", "def",    "del", "elif", "else",   "except",   "finally", "float", "for",
      "from",  "global", "if",       "import", "in",  "is",   "lambda", "nonlocal", "not",     "or",    "pass",
      "raise", "range",  "return",   "tir",    "try", "tvm",  "while",  "with",     "yield"};
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

}  // namespace

bool IsIdentifier(std::string_view text) { return Sanitize(text) == text; }

std::string QuotedString(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
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

std::string PrintAttr(const Attr& attr) {
  if (const int64_t* value = std::get_if<int64_t>(&attr)) return std::to_string(*value);
  if (const bool* value = std::get_if<bool>(&attr)) return *value ? "True" : "False";
  if (const std::string* value = std::get_if<std::string>(&attr)) return QuotedString(*value);
  if (const double* value = std::get_if<double>(&attr))
    return std::isfinite(*value) ? PrintFloat(*value) : fmt::format("T.float64({})", PrintFloat(*value));
  std::string text = "[";
  for (const Attr& item : std::get<std::vector<Attr>>(attr)) text += (text.size() > 1 ? ", " : "") + PrintAttr(item);
  return text + "]";
}

std::string PrintAttrs(const AttrMap& attrs) {
  std::string text = "{";
  for (const auto& [key, value] : attrs)
    text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", QuotedString(key), PrintAttr(value));
  return text + "}";
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
  const std::string* known = names_.Find(var.get());
  return known != nullptr ? *known : names_.Define(var.get(), var.As<VarName>()->name);
}
std::string ExprPrinter::NameOf(const Buffer& buffer) {
  const std::string* known = names_.Find(buffer.get());
  return known != nullptr ? *known : names_.Define(buffer.get(), buffer->name);
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
  return fmt::format("{}[{}]", name, indices.empty() ? "()" : PrintList(indices));
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

std::string ExprPrinter::PrintInt(DataType type, int64_t value) {
  if (type == DataType::Int(32)) return std::to_string(value);
  if (type.is_bool() && (value == 0 || value == 1)) return fmt::format("T.bool({})", value != 0 ? "True" : "False");
  if (type.code == DataType::Code::kUInt) return fmt::format("T.{}({})", type.ToString(), static_cast<uint64_t>(value));
  return fmt::format("T.{}({})", type.ToString(), value);
}

namespace {

// Whether the parser's folding spelling of `e` gives `e` back.
[[gnu::noinline]] bool FoldsToItself(DataType type, const Binary& e) {
  const bool is_logical = e.op == BinaryOp::kAnd || e.op == BinaryOp::kOr;
  if (e.a.dtype() != e.b.dtype() || type != MakeBinary(e.op, e.a, e.b).dtype() ||
      (is_logical && !e.a.dtype().is_bool()))
    return false;
  const Expr read = FoldBinary(e.op, e.a, e.b);
  const Binary* same = read.As<Binary>();
  return same != nullptr && same->op == e.op && same->a.same_as(e.a) && same->b.same_as(e.b);
}

}  // namespace

std::string ExprPrinter::PrintBinary(DataType type, const Binary& e, int needed) {
  const BinarySpelling& spelling = SpellingOf(e.op);
  const bool folds_to_itself = FoldsToItself(type, e);
  if (folds_to_itself && HasInfix(e.op, e.a.dtype())) return PrintInfix(spelling, e, needed);
  const bool folding = folds_to_itself && !spelling.folding.empty();
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
  if (TakesTypeFirst(*call.op)) {
    return fmt::format("T.{}(\"{}\"{}{})", call.op->name, type.ToString(), call.args.empty() ? "" : ", ",
                       PrintList(call.args));
  }
  if (InferCallType(*call.op, call.args) == type) return fmt::format("T.{}({})", call.op->name, PrintList(call.args));
  return fmt::format("T.call_intrin(\"{}\", \"tir.{}\"{}{})", type.ToString(), call.op->name,
                     call.args.empty() ? "" : ", ", PrintList(call.args));
}

std::string ExprPrinter::PrintFloatOf(DataType type, double value) {
  return fmt::format("T.{}({})", type.ToString(), PrintFloat(value));
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
  if (const BufferLoad* load = std::get_if<BufferLoad>(&node)) return PrintAccess(load->buffer, load->indices);
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
    return fmt::format("T.Ramp({}, {})", PrintList({ramp->base, ramp->stride}), ramp->lanes);
  const Broadcast* broadcast = e.As<Broadcast>();
  CHECK(broadcast != nullptr) << "an expression of another kind";
  return fmt::format("T.Broadcast({}, {})", Print(broadcast->value), broadcast->lanes);
}

}  // namespace lathe
