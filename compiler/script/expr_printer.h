// Expressions as text, and the names that variables and buffers have in it. Part of the printer.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "compiler/ir/stmt.h"
#include "compiler/script/printer.h"

namespace lathe {

struct BinarySpelling;

std::string QuotedString(std::string_view text);          // A Python literal: "a\n".
std::string PrintPlainAttr(const Attr& attr);             // A number, a text, True, False or None.
bool IsIdentifier(std::string_view text);                 // A name that the printer may use as it is.
std::string_view DialectOf(const PrintOptions& options);  // "tir", or "tirx" as today.
std::string PrintFloat(double value);       // Shortest that reads back: 1.0, 1e-05; not finite: "nan" in quotes.
std::string PrintFloatAsTvm(double value);  // Whole numbers in full, others with 17 digits: 0.10000000000000001.

// Gives each variable and buffer a name that no other one in scope has.
class NameGiver {
 public:
  std::string Define(const void* node, std::string_view hint);        // The name, in force until Close.
  void DefineAs(const void* node, std::string text);                  // Exactly so, e.g. "A.data".
  std::string Fresh(std::string_view hint);                           // A name for something without a node.
  std::string DefineForAll(const void* node, std::string_view hint);  // In force from here on, whatever Close says.
  void DefineForAllAs(const void* node, std::string text);            // Likewise, exactly so.
  // In force, whatever Close says, until the suite of the statement around ends: the printer says at which level of
  // indentation that is (KeepAt), and when levels from `level` on have ended (ForgetFrom).
  std::string DefineForSuite(const void* node, std::string_view hint);
  void KeepAt(int level);
  void ForgetFrom(int level);
  const std::string* Find(const void* node) const;
  size_t Open() const { return defined_.size(); }
  void Close(size_t mark);

 private:
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_{"I", "R", "T"};  // What the dialects are called.
  std::vector<std::pair<const void*, std::string>> defined_;
  struct Kept {
    const void* node;
    std::string name;
    int level;  // -1: not known yet.
  };
  std::vector<Kept> kept_;
};

class ExprPrinter {
 public:
  explicit ExprPrinter(NameGiver& names) : ExprPrinter(names, kPlain) {}
  ExprPrinter(NameGiver& names, const PrintOptions& options) : names_(names), options_(options) {}
  std::string Print(const Expr& e) { return Print(e, 0); }
  std::string PrintList(const std::vector<Expr>& list);   // "a, b"
  std::string PrintTuple(const std::vector<Expr>& list);  // "(a, b)", "(a,)", "()"
  std::string PrintAccess(const Buffer& buffer, const std::vector<Expr>& indices);
  std::string PrintRegion(const BufferRegion& region);
  std::string PrintDomain(const Range& range);  // As first argument of T.axis.spatial.
  std::string PrintVarType(const Var& var);     // T.int32, T.handle("float32", "global")
  std::string PrintAttr(const Attr& attr);
  std::string PrintAttrs(const AttrMap& attrs);   // {"key": 1}
  std::string PrintIterVar(const IterVar& axis);  // Its variable is declared, if it is new.
  std::string PrintReducer(const CommReducer& reducer);
  // Variables that an expression introduces are declared by lines before the statement: "x = T.int32()". Gives those
  // since the last call.
  std::vector<std::string> TakeDeclarations() { return std::exchange(declarations_, {}); }
  std::string Declare(const Var& var);        // The name of a variable that an expression introduces.
  std::string DeclarationOf(const Var& var);  // T.int32(), T.handle("float32", "global"), T.int32(is_size_var=True)
  // Variables and buffers that had no name yet, in order of their first use since the last call.
  using Unnamed = std::variant<Var, Buffer>;
  std::vector<Unnamed> TakeUnnamed() { return std::exchange(unnamed_, {}); }
  std::string NameOf(const Expr& var);
  std::string NameOf(const Buffer& buffer);

 private:
  std::string Print(const Expr& e, int needed);  // In parentheses if it binds weaker than `needed`.
  std::string PrintTvmDomain(const Range& range);
  std::string PrintInt(DataType type, int64_t value);
  std::string PrintFloatOf(DataType type, double value);
  std::string PrintOther(const Expr& e, int needed);
  std::string PrintLanes(DataType type);
  std::string PrintLoad(const BufferLoad& load);
  std::string PrintLet(const Let& let);
  std::string PrintReduce(const Reduce& reduce);
  std::string PrintFuncCall(DataType type, const FuncCall& call);
  std::string PrintInfix(const BinarySpelling& spelling, const Binary& e, int needed);
  std::string PrintBinary(DataType type, const Binary& e, int needed);
  std::string PrintCall(DataType type, const Call& call);
  std::string PrintRegionDim(const Range& range);

  std::optional<std::string> PrintSlice(const Expr& index);

  static inline const PrintOptions kPlain{};
  NameGiver& names_;
  const PrintOptions& options_;
  std::vector<std::string> declarations_;
  std::vector<Unnamed> unnamed_;
};

}  // namespace lathe
