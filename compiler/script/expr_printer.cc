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

bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

bool IsReserved(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "False", "I", "None", "R", "T", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "finally", "float",
      "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "range", "return", "tir", "try", "tvm", "while", "with", "yield"};
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
  if (const double* value = std::get_if<double>(&attr)) return std::isfinite(*value) ? PrintFloat(*value) : fmt::format("T.float64({})", PrintFloat(*value));
  std::string text = "[";
  for (const Attr& item : std::get<std::vector<Attr>>(attr)) text += (text.size() > 1 ? ", " : "") + PrintAttr(item);
  return text + "]";
}

std::string PrintAttrs(const AttrMap& attrs) {
  std::string text = "{";
  for (const auto& [key, value] : attrs) text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", QuotedString(key), PrintAttr(value));
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
std::string ExprPrinter::PrintTuple(const std::vector<Expr>& list) { return fmt::format("({}{})", PrintList(list), list.size() == 1 ? "," : ""); }
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

std::string ExprPrinter::PrintBinary(DataType type, const Binary& e, int needed) {
  const BinarySpelling& spelling = SpellingOf(e.op);
  const bool is_plain = e.a.dtype() == e.b.dtype() && type == MakeBinary(e.op, e.a, e.b).dtype();
  if (is_plain && !spelling.infix.empty() && HasInfix(e.op, e.a.dtype())) {
    const Expr read = FoldBinary(e.op, e.a, e.b);  // What the parser makes of the infix form.
    const Binary* same = read.As<Binary>();
    if (same != nullptr && same->op == e.op && same->a.same_as(e.a) && same->b.same_as(e.b)) {
      const bool is_comparison = spelling.precedence == kComparePrecedence;
      std::string text = Print(e.a, spelling.precedence + (is_comparison ? 1 : 0));
      text += fmt::format(" {} {}", spelling.infix, Print(e.b, spelling.precedence + 1));
      return spelling.precedence < needed ? "(" + text + ")" : text;
    }
  }
  if (is_plain && !spelling.folding.empty() && !HasInfix(e.op, e.a.dtype())) {
    const Expr read = FoldBinary(e.op, e.a, e.b);
    const Binary* same = read.As<Binary>();
    if (same != nullptr && same->a.same_as(e.a) && same->b.same_as(e.b)) return fmt::format("T.{}({}, {})", spelling.folding, Print(e.a), Print(e.b));
  }
  return fmt::format("T.{}({}, {})", spelling.exact, Print(e.a), Print(e.b));
}

std::string ExprPrinter::PrintCall(DataType type, const Call& call) {
  if (TakesTypeFirst(*call.op)) {
    return fmt::format("T.{}(\"{}\"{}{})", call.op->name, type.ToString(), call.args.empty() ? "" : ", ", PrintList(call.args));
  }
  if (InferCallType(*call.op, call.args) == type) return fmt::format("T.{}({})", call.op->name, PrintList(call.args));
  return fmt::format("T.call_intrin(\"{}\", \"tir.{}\"{}{})", type.ToString(), call.op->name, call.args.empty() ? "" : ", ", PrintList(call.args));
}

std::string ExprPrinter::Print(const Expr& e, int needed) {
  const ExprVariant& node = e.node().value;
  if (const IntImm* imm = std::get_if<IntImm>(&node)) return PrintInt(e.dtype(), imm->value);
  if (const FloatImm* imm = std::get_if<FloatImm>(&node)) return fmt::format("T.{}({})", e.dtype().ToString(), PrintFloat(imm->value));
  if (const StringImm* imm = std::get_if<StringImm>(&node)) return QuotedString(imm->value);
  if (std::holds_alternative<VarName>(node)) return NameOf(e);
  if (const Binary* binary = std::get_if<Binary>(&node)) return PrintBinary(e.dtype(), *binary, needed);
  if (const Not* negation = std::get_if<Not>(&node)) {
    if (AsIntConst(negation->a) != nullptr) return fmt::format("T.Not({})", Print(negation->a));
    const std::string text = "not " + Print(negation->a, kNotPrecedence);
    return kNotPrecedence < needed ? "(" + text + ")" : text;
  }
  if (const Cast* cast = std::get_if<Cast>(&node)) return fmt::format("T.Cast(\"{}\", {})", e.dtype().ToString(), Print(cast->value));
  if (const Select* select = std::get_if<Select>(&node)) {
    return fmt::format("T.Select({}, {}, {})", Print(select->condition), Print(select->true_value), Print(select->false_value));
  }
  if (const BufferLoad* load = std::get_if<BufferLoad>(&node)) return PrintAccess(load->buffer, load->indices);
  if (const Ramp* ramp = std::get_if<Ramp>(&node)) return fmt::format("T.Ramp({}, {}, {})", Print(ramp->base), Print(ramp->stride), ramp->lanes);
  if (const Broadcast* broadcast = std::get_if<Broadcast>(&node)) return fmt::format("T.Broadcast({}, {})", Print(broadcast->value), broadcast->lanes);
  return PrintCall(e.dtype(), std::get<Call>(node));
}

}  // namespace lathe
