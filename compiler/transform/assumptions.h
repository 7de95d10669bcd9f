// What is known of elements of buffers: by T.assume, and by what was stored.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "compiler/arith/iter_map.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"
#include "support/status.h"

namespace lathe {

// buffer[indices] == value wherever `conditions` hold, for all values of `vars`.
struct Assumption {
  std::vector<Var> vars;
  std::vector<Expr> conditions;
  Buffer buffer;
  std::vector<Expr> indices;
  Expr value;
};

// Its value at `indices` where the facts show that it says one; nullopt: nothing is known.
std::optional<Expr> AssumedValue(const Assumption& assumption, const Buffer& buffer, const std::vector<Expr>& indices,
                                 Simplifier& facts);
// Whether the facts show that it says nothing of the element.
bool IsSilentAbout(const Assumption& assumption, const std::vector<Expr>& indices, Simplifier& facts);

// The assumptions below a statement, each for all iterations of what is around it there, and what is touched there.
class AssumptionFinder : public StmtExprVisitor {
 public:
  std::vector<Assumption> found;   // By T.assume.
  std::vector<Assumption> stored;  // By stores of what is not read from memory.
  Status status;

  // Whether the statement stores to the buffer, reads it, gives its address away (which may be either).
  bool MayWrite(const Buffer& buffer) const { return IsPointer(buffer) || NumStores(buffer) > 0; }
  bool MayRead(const Buffer& buffer) const { return IsPointer(buffer) || IsIn(read_, buffer); }
  bool MayLeak(const Buffer& buffer) const { return IsPointer(buffer); }
  size_t NumStores(const Buffer& buffer) const;

 protected:
  void VisitVar(const Expr& var) override { pointers_.insert(var.get()); }
  void VisitStmt(const Stmt& stmt) override;
  void VisitFor(const Stmt& self, const For& loop) override;
  void VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override;
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override;
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override;

 private:
  bool IsPointer(const Buffer& buffer) const { return pointers_.contains(buffer->data.get()); }
  static bool IsIn(const std::vector<Buffer>& buffers, const Buffer& buffer);
  void Add(const Expr& condition);
  bool IsKnownHere() const;
  Assumption Here(Assumption assumption) const;

  IterDomain loops_;
  std::vector<Expr> conditions_;
  std::vector<Buffer> written_, read_;
  std::unordered_set<const ExprNode*> pointers_;
  bool covers_ = true;  // All values of `loops_` occur.
};

// The same, floats bit by bit.
bool SameValue(const Expr& a, const Expr& b);

// Puts in what assumptions say of the elements that an expression reads, and folds what becomes constant.
class AssumedValues : public StmtExprMutator {
 public:
  AssumedValues(const std::vector<Assumption>& assumptions, Simplifier& facts)
      : assumptions_(assumptions), facts_(facts) {}
  bool is_safe = true;  // Whatever is still read is there, and nothing traps.

 protected:
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override;
  Expr VisitExpr(const Expr& e) override;

 private:
  const std::vector<Assumption>& assumptions_;
  Simplifier& facts_;
};

// Whether the facts show that the element is in the buffer.
bool IsInside(const Buffer& buffer, const std::vector<Expr>& indices, Simplifier& facts);

}  // namespace lathe
