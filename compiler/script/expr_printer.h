// Expressions as text, and the names that variables and buffers have in it. Part of the printer.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/stmt.h"

namespace lathe {

struct BinarySpelling;

std::string QuotedString(std::string_view text);  // A Python literal: "a\n".
std::string PrintAttr(const Attr& attr);
std::string PrintAttrs(const AttrMap& attrs);  // {"key": 1}
bool IsIdentifier(std::string_view text);      // A name that the printer may use as it is.
std::string PrintFloat(double value);          // Shortest that reads back: 1.0, 1e-05; not finite: "nan" in quotes.

// Gives each variable and buffer a name that no other one in scope has.
class NameGiver {
 public:
  std::string Define(const void* node, std::string_view hint);  // The name, in force until Close.
  std::string Fresh(std::string_view hint);                     // A name for something without a node.
  const std::string* Find(const void* node) const;
  size_t Open() const { return defined_.size(); }
  void Close(size_t mark);

 private:
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::vector<std::pair<const void*, std::string>> defined_;
};

class ExprPrinter {
 public:
  explicit ExprPrinter(NameGiver& names) : names_(names) {}
  std::string Print(const Expr& e) { return Print(e, 0); }
  std::string PrintList(const std::vector<Expr>& list);   // "a, b"
  std::string PrintTuple(const std::vector<Expr>& list);  // "(a, b)", "(a,)", "()"
  std::string PrintAccess(const Buffer& buffer, const std::vector<Expr>& indices);
  std::string PrintRegion(const BufferRegion& region);
  std::string PrintDomain(const Range& range);  // As first argument of T.axis.spatial.
  std::string NameOf(const Expr& var);
  std::string NameOf(const Buffer& buffer);

 private:
  std::string Print(const Expr& e, int needed);  // In parentheses if it binds weaker than `needed`.
  std::string PrintInt(DataType type, int64_t value);
  std::string PrintFloatOf(DataType type, double value);
  std::string PrintOther(const Expr& e, int needed);
  std::string PrintInfix(const BinarySpelling& spelling, const Binary& e, int needed);
  std::string PrintBinary(DataType type, const Binary& e, int needed);
  std::string PrintCall(DataType type, const Call& call);
  std::string PrintRegionDim(const Range& range);

  NameGiver& names_;
};

}  // namespace lathe
