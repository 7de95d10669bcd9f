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
constexpr std::string_view WordOf(const Let&) { return "let"; }
constexpr std::string_view WordOf(const Shuffle&) { return "shuffle"; }
constexpr std::string_view WordOf(const FuncCall&) { return "call_func"; }
constexpr std::string_view WordOf(const Reduce&) { return "reduce"; }
constexpr std::string_view WordOf(const CommReducer&) { return "reducer"; }
constexpr std::string_view WordOf(const Allocate&) { return "allocate_memory"; }
constexpr std::string_view WordOf(const AllocateConst&) { return "allocate_const"; }
constexpr std::string_view WordOf(const AttrStmt&) { return "attr"; }
constexpr std::string_view WordOf(const For&) { return "for"; }
constexpr std::string_view WordOf(const BlockRealize&) { return "realize"; }
constexpr std::string_view WordOf(const BufferStore&) { return "store"; }
constexpr std::string_view WordOf(const IfThenElse&) { return "if"; }
constexpr std::string_view WordOf(const Seq&) { return "seq"; }
constexpr std::string_view WordOf(const Evaluate&) { return "evaluate"; }
constexpr std::string_view WordOf(const LetStmt&) { return "let"; }
constexpr std::string_view WordOf(const AllocBuffer&) { return "allocate"; }
constexpr std::string_view WordOf(const BufferRealize&) { return "realize_buffer"; }
constexpr std::string_view WordOf(const Prefetch&) { return "prefetch"; }
constexpr std::string_view WordOf(const DeclBuffer&) { return "declare"; }
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
      if (field.name == "name" || IsLaterDefault(field.name, value)) return;
      out_ += ' ';
      Write(value);
    });
    out_ += ')';
  }
  void Write(const Expr& e) {
    if (IsVar(e)) return WriteVar(e);
    VisitNode(e, [&](const auto& node) { WriteExprNode(e.dtype(), node); });
  }
  void Write(const Stmt& s) {
    out_ += '\n';
    out_.append(depth_, ' ');
    ++depth_;
    std::visit([&](const auto& node) { Write(node); }, InOrder(s).node().value);
    --depth_;
  }
  void Write(const AssertStmt& check) {
    out_ += "(assert ";
    Write(check.condition);
    out_ += ' ' + QuotedString(check.message) + ')';
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
  // A buffer stands for its parameter; the handle itself, where the body names it, is p and its position.
  void Write(const PrimFunc& func) {
    Open(WordOf(func));
    out_ += " [";
    const std::vector<Param> params = ParamsOf(func);
    for (size_t i = 0; i < params.size(); ++i) {
      if (i > 0) out_ += ' ';
      if (std::holds_alternative<Buffer>(params[i])) names_.emplace(func.params[i].get(), fmt::format("p{}", i));
      std::visit([&](const auto& one) { Write(one); }, params[i]);
    }
    out_ += "] ";
    if (func.ret_type) out_ += "->" + func.ret_type->ToString() + " ";
    Write(func.attrs);
    out_ += ' ';
    Write(func.body);
    out_ += ')';
  }
  // In lathe.workload/1 an assertion is a statement before those that it covers, which the rest of its suite is.
  static Stmt InOrder(const Stmt& s) {
    if (s.As<Seq>() == nullptr && s.As<AssertStmt>() == nullptr) return s;
    std::vector<Stmt> stmts;
    AddInOrder(s, stmts);
    return MakeSeq(std::move(stmts));
  }
  static void AddInOrder(const Stmt& s, std::vector<Stmt>& stmts) {
    if (const Seq* seq = s.As<Seq>()) {
      for (const Stmt& one : seq->stmts) AddInOrder(one, stmts);
      return;
    }
    const AssertStmt* check = s.As<AssertStmt>();
    stmts.push_back(check == nullptr ? s : Stmt(AssertStmt{check->condition, check->message, Evaluate{0}}));
    if (check != nullptr && !IsNoOp(check->body)) AddInOrder(check->body, stmts);
  }
  static bool IsNoOp(const Stmt& s) {
    const Evaluate* evaluate = s.As<Evaluate>();
    return evaluate != nullptr && IsConstInt(evaluate->value, 0);
  }
  // What came after lathe.workload/1 was fixed is written where it is not what it was before. Alignment and offset
  // factor, which texts had then, too, are promises: they do not change what is computed, or how.
  void Write(const BufferNode& buffer) {
    Open(WordOf(buffer));
    out_ += ' ' + buffer.dtype.ToString() + ' ';
    Write(buffer.shape);
    out_ += ' ';
    Write(buffer.strides);
    out_ += ' ';
    Write(buffer.elem_offset);
    out_ += ' ' + QuotedString(buffer.scope);
    WriteData(buffer);
    if (buffer.buffer_type == BufferType::kAutoBroadcast) out_ += " auto_broadcast";
    if (!buffer.axis_separators.empty()) {
      out_ += " axis_separators=";
      Write(buffer.axis_separators);
    }
    out_ += ')';
  }
  // Fields that lathe.workload/1 did not have when it was fixed.
  static bool IsLaterDefault(std::string_view field, const std::optional<Expr>& value) {
    return field == "predicate" && !value;
  }
  static bool IsLaterDefault(std::string_view field, const std::string& value) {
    return field == "thread_tag" && value.empty();
  }
  template <typename T>
  static bool IsLaterDefault(std::string_view, const T&) {
    return false;
  }
  void Write(const AttrTarget& target) {
    std::visit([&](const auto& one) { Write(one); }, target);
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
      if (key == "global_symbol") continue;  // A name, as that of the function itself.
      if (out_.back() != '{') out_ += ' ';
      out_ += QuotedString(key) + ":";
      Write(value);
    }
    out_ += '}';
  }
  void Write(const Attr& attr) {
    if (const auto* list = std::get_if<std::vector<Attr>>(&attr)) return Write(*list);
    if (const auto* map = std::get_if<AttrMap>(&attr)) return Write(*map);
    if (const Expr* e = std::get_if<Expr>(&attr)) return Write(*e);
    if (const double* value = std::get_if<double>(&attr)) return WriteFloat(DataType::Float(64), *value);
    out_ += PrintPlainAttr(attr);
  }
  void Write(const std::string& text) { out_ += QuotedString(text); }
  void Write(int64_t value) { out_ += std::to_string(value); }
  void Write(bool value) { out_ += value ? "True" : "False"; }
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
  // Memory of its own is named after the buffer, which is the latest.
  void WriteData(const BufferNode& buffer) {
    const auto [entry, is_new] = names_.emplace(buffer.data.get(), fmt::format("b{}.data", num_buffers_ - 1));
    if (!is_new) out_ += " data=" + entry->second;
    const PointerType* pointer = buffer.data.pointer();
    if (pointer != MakePointerType(buffer.dtype, buffer.scope)) {
      out_ += " pointer=";
      Write(pointer);
    }
  }
  void Write(const PointerType* pointer) {
    if (pointer == nullptr) {
      out_ += "handle";
    } else {
      out_ += fmt::format("{}@{}", pointer->element.ToString(), QuotedString(pointer->scope));
    }
  }
  void WriteVar(const Expr& var) {
    if (const auto named = names_.find(var.get()); named != names_.end()) {
      out_ += named->second;
      return;
    }
    const auto [entry, is_new] = ids_.emplace(var.get(), num_vars_);
    out_ += fmt::format("v{}", entry->second);
    if (!is_new) return;
    ++num_vars_;
    out_ += ":" + var.dtype().ToString();
    if (var.As<VarName>()->is_size) out_ += ":size";
    if (const PointerType* pointer = Var(var).pointer()) {
      out_ += ':';
      Write(pointer);
    }
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
  std::unordered_map<const void*, std::string> names_;  // Of handles that stand for a buffer's memory.
};

}  // namespace

std::string CanonicalText(const PrimFunc& func) {
  CanonicalWriter writer;
  writer.Write(func);
  return writer.Finish();
}

Digest WorkloadDigest(const PrimFunc& func) { return Sha256(std::string(kVersionLine) + CanonicalText(func)); }

}  // namespace lathe
