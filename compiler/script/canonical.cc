#include "compiler/script/canonical.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <unordered_map>

#include "compiler/script/dialect.h"
#include "compiler/script/expr_printer.h"

namespace lathe {
namespace {

constexpr std::string_view kVersionLine = "lathe.workload/1\n";

template <typename T>
concept HasFields = requires { T::Fields(); };

// The words of the format. They never change, whatever the types are called.
constexpr std::string_view WordOf(const IntImm&) { return "int"; }
constexpr std::string_view WordOf(const FloatImm&) { return "float"; }
constexpr std::string_view WordOf(const StringImm&) { return "string"; }
constexpr std::string_view WordOf(const VarName&) { return "var"; }
constexpr std::string_view WordOf(const Binary&) { return "binary"; }
constexpr std::string_view WordOf(const Not&) { return "not"; }
constexpr std::string_view WordOf(const Cast&) { return "cast"; }
constexpr std::string_view WordOf(const Select&) { return "select"; }
constexpr std::string_view WordOf(const BufferLoad&) { return "load"; }
constexpr std::string_view WordOf(const Ramp&) { return "ramp"; }
constexpr std::string_view WordOf(const Broadcast&) { return "broadcast"; }
constexpr std::string_view WordOf(const Call&) { return "call"; }
constexpr std::string_view WordOf(const For&) { return "for"; }
constexpr std::string_view WordOf(const BlockRealize&) { return "realize"; }
constexpr std::string_view WordOf(const BufferStore&) { return "store"; }
constexpr std::string_view WordOf(const IfThenElse&) { return "if"; }
constexpr std::string_view WordOf(const Seq&) { return "seq"; }
constexpr std::string_view WordOf(const Evaluate&) { return "evaluate"; }
constexpr std::string_view WordOf(const LetStmt&) { return "let"; }
constexpr std::string_view WordOf(const Allocate&) { return "allocate"; }
constexpr std::string_view WordOf(const AssertStmt&) { return "assert"; }
constexpr std::string_view WordOf(const While&) { return "while"; }
constexpr std::string_view WordOf(const Range&) { return "range"; }
constexpr std::string_view WordOf(const BufferRegion&) { return "region"; }
constexpr std::string_view WordOf(const MatchBufferRegion&) { return "match"; }
constexpr std::string_view WordOf(const IterVar&) { return "iter"; }
constexpr std::string_view WordOf(const BlockNode&) { return "block"; }
constexpr std::string_view WordOf(const BufferNode&) { return "buffer"; }
constexpr std::string_view WordOf(const PrimFunc&) { return "func"; }

// (word field field ...), fields in the order of Fields(), without "name". Statements start a line.
class CanonicalWriter {
 public:
  std::string Finish() { return std::move(out_) + "\n"; }

  template <HasFields Node>
  void Write(const Node& node) {
    Open(WordOf(node));
    ForEachField(node, [&](const auto& field, const auto& value) {
      if (field.name == "name") return;
      out_ += ' ';
      Write(value);
    });
    out_ += ')';
  }
  void Write(const Expr& e) {
    if (IsVar(e)) return WriteVar(e);
    std::visit([&](const auto& node) { WriteExprNode(e.dtype(), node); }, e.node().value);
  }
  void Write(const Stmt& s) {
    out_ += '\n';
    out_.append(depth_, ' ');
    ++depth_;
    std::visit([&](const auto& node) { Write(node); }, s.node().value);
    --depth_;
  }
  void Write(const Block& block) { Write(*block); }
  void Write(const Buffer& buffer) {
    const auto [entry, is_new] = ids_.emplace(buffer.get(), num_buffers_);
    out_ += fmt::format("b{}", entry->second);
    if (!is_new) return;
    ++num_buffers_;
    out_ += '=';
    Write(*buffer);
  }
  void Write(const Param& param) {
    std::visit([&](const auto& one) { Write(one); }, param);
  }
  template <typename T>
  void Write(const std::vector<T>& items) {
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ' ';
      Write(items[i]);
    }
    out_ += ']';
  }
  template <typename T>
  void Write(const std::optional<T>& item) {
    if (item) return Write(*item);
    out_ += "none";
  }
  void Write(const AttrMap& attrs) {
    out_ += '{';
    for (const auto& [key, value] : attrs) {
      if (out_.back() != '{') out_ += ' ';
      out_ += QuotedString(key) + ":";
      Write(value);
    }
    out_ += '}';
  }
  void Write(const Attr& attr) {
    if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) return Write(*list);
    if (const double* value = std::get_if<double>(&attr)) return WriteFloat(DataType::Float(64), *value);
    out_ += PrintAttr(attr);
  }
  void Write(const std::string& text) { out_ += QuotedString(text); }
  void Write(int64_t value) { out_ += std::to_string(value); }
  void Write(DataType type) { out_ += type.ToString(); }
  void Write(const Op* op) { out_ += op->name; }
  void Write(BinaryOp op) { out_ += SpellingOf(op).exact; }
  void Write(ForKind kind) { out_ += SpellingOf(kind); }
  void Write(IterKind kind) { out_ += SpellingOf(kind); }

 private:
  void Open(std::string_view word) {
    out_ += '(';
    out_ += word;
  }
  void WriteVar(const Expr& var) {
    const auto [entry, is_new] = ids_.emplace(var.get(), num_vars_);
    out_ += fmt::format("v{}", entry->second);
    if (!is_new) return;
    ++num_vars_;
    out_ += ":" + var.dtype().ToString();
  }
  void WriteExprNode(DataType type, const IntImm& imm) { out_ += fmt::format("{}:{}", imm.value, type.ToString()); }
  void WriteExprNode(DataType type, const FloatImm& imm) {
    WriteFloat(type, imm.value);
    out_ += ":" + type.ToString();
  }
  template <typename Node>
  void WriteExprNode(DataType type, const Node& node) {
    Write(node);
    out_ += ":" + type.ToString();
  }
  // Bits, so that nothing depends on how numbers are printed. A float32 constant is the float32 it will be in the
  // kernel; NaNs are one.
  void WriteFloat(DataType type, double value) {
    if (type.bits == 32) value = static_cast<double>(static_cast<float>(value));
    if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
    out_ += fmt::format("x{:016x}", std::bit_cast<uint64_t>(value));
  }

  std::string out_;
  size_t depth_ = 0, num_vars_ = 0, num_buffers_ = 0;
  std::unordered_map<const void*, size_t> ids_;
};

}  // namespace

std::string CanonicalText(const PrimFunc& func) {
  CanonicalWriter writer;
  writer.Write(func);
  return writer.Finish();
}

Digest WorkloadDigest(const PrimFunc& func) { return Sha256(std::string(kVersionLine) + CanonicalText(func)); }

}  // namespace lathe
