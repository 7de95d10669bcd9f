// Whether a block computes what the description of a tensor intrinsic says.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/stmt.h"
#include "compiler/ir/visitor.h"

namespace lathe {

class DescriptionMatcher {
 public:
  // `any_scope`: buffers may lie elsewhere than the description's.
  explicit DescriptionMatcher(bool any_scope = false) : any_scope_(any_scope) {}
  // Compares a block with the root block of a description, once per object. The regions of both come in the same order;
  // where those of the block begin is what its accesses are relative to.
  bool Match(const BlockRealize& realize, const BlockRealize& description);
  // The innermost difference, in words; empty if Match said true.
  const std::string& difference() const { return difference_; }
  // Of a match: the block's buffer that the description's stands for (nullptr: for none), and where its region begins.
  const Buffer* BufferFor(const Buffer& described) const;
  const std::vector<Expr>& BaseOf(const Buffer& buffer) const { return bases_.at(buffer.get()); }

 private:
  bool Differ(std::string what);

  bool Same(const Stmt& a, const Stmt& b);
  bool SameNode(const For& a, const For& b);
  bool SameNode(const BlockRealize& a, const BlockRealize& b);
  bool SameNode(const BufferStore& a, const BufferStore& b);
  bool SameNode(const LetStmt& a, const LetStmt& b);
  bool SameNode(const Seq& a, const Seq& b);
  bool SameNode(const IfThenElse& a, const IfThenElse& b);
  bool SameNode(const Evaluate& a, const Evaluate& b) { return Same(a.value, b.value); }
  template <typename T>
  bool SameNode(const T&, const T&) {
    return Differ("there is a statement that no description may hold");
  }
  bool SameBlock(const BlockNode& a, const BlockNode& b);

  bool Same(const Expr& a, const Expr& b);
  bool Same(const std::vector<Expr>& a, const std::vector<Expr>& b);
  bool Same(const std::optional<Expr>& a, const std::optional<Expr>& b);
  template <typename T>
  bool Same(const T& a, const T& b) {
    return a == b;
  }
  template <typename Node>
  bool SameFields(const Node& a, const Node& b);

  // Index arithmetic: equal where it is provably so.
  bool SameIndex(const Expr& a, const Expr& b) const;
  bool SameAccess(const Buffer& a, const std::vector<Expr>& at, const Buffer& b, const std::vector<Expr>& described);
  bool SameBuffer(const Buffer& a, const Buffer& b);
  bool SameRegions(const std::vector<BufferRegion>& a, const std::vector<BufferRegion>& b);
  bool SameRegion(const BufferRegion& a, const BufferRegion& b);
  bool Begin(const BufferRegion& a, const BufferRegion& b);
  void Pair(const Var& a, const Var& b, const Range& domain);

  const bool any_scope_;
  Analyzer analyzer_;
  VarMap vars_;  // Of the description -> of the block.
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  std::unordered_map<const BufferNode*, std::vector<Expr>> bases_;  // By the block's buffer.
  std::string difference_;
};

}  // namespace lathe
