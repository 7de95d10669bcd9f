// One run of a Simplifier over one expression: by rules, and by sums.
#pragma once

#include "compiler/arith/rules.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"

namespace lathe {

class RuleSimplifier : protected StmtExprMutator {
 public:
  using Clauses = std::vector<std::vector<Expr>>;  // All hold; of each, one.

  explicit RuleSimplifier(Simplifier& owner) : owner_(owner) {}
  Expr operator()(const Expr& e) { return VisitExpr(e); }

 protected:
  // What is known of two values of index type. A bit for each way that they may lie.
  enum Order : uint8_t { kLess = 1, kSame = 2, kGreater = 4, kAnyOrder = 7 };

  Expr VisitExpr(const Expr& e) override;
  Expr RewriteNode(const Expr& e);  // Children by VisitExpr, then the rules of the node.
  uint8_t Compare(const Expr& a, const Expr& b);
  uint8_t CompareWith(const Expr& e, int64_t value);
  bool Proves(BinaryOp comparison, const Expr& a, const Expr& b);
  virtual bool UsesLiterals() const { return true; }
  Expr Again(const Expr& e);  // Simplifies what a rule made; to some depth.

  Simplifier& owner_;

 private:
  std::optional<Expr> Apply(const RuleSet& rules, const Expr& e);
  Expr RewriteBinary(const Expr& e, const Binary& op);
  Expr RulesOfBinary(const Expr& e);
  std::optional<Expr> RulesBefore(const Expr& e, const Binary& op);  // Of vectors, and what no table says.
  std::optional<Expr> ByBounds(const Binary& op);
  std::optional<Expr> QuotientOfSum(const Expr& e, const Binary& op);
  std::optional<Expr> RemainderByFacts(const Binary& op);
  std::optional<Expr> LanesOfRamp(const Binary& op);
  std::optional<Expr> RulesOfFloats(const Expr& e, const Binary& op);

  Expr RewriteComparison(const Expr& e);
  Expr RulesOfLess(const Expr& e);
  Expr RulesOfEqual(const Expr& e);
  Expr RulesOfNotEqual(const Expr& e, const Binary& op);
  Expr RulesOfLessEqual(const Expr& e, const Binary& op);
  Expr RulesOfNot(const Expr& e);
  std::optional<Expr> JoinOffsets(const Binary& op);
  std::optional<Expr> WithoutCommonFactor(const Binary& op);
  Expr RewriteConnective(const Expr& e, const Binary& op);
  std::pair<Expr, Expr> SidesByEachOther(const Binary& op);
  Expr AsAndOfOrs(const Expr& e);
  void JoinClauses(Clauses& clauses);

  Expr RewriteChoice(const Expr& e);
  Expr RewriteCall(const Expr& e);
  Expr RewriteLet(const Expr& e, const Let& let);
  Expr RewriteReduce(const Expr& e, const Reduce& reduce);
  std::optional<Expr> ByLiterals(const Expr& e) const;
  uint8_t CompareByLiterals(const Expr& a, const Expr& b) const;
  bool IsKnownToDiffer(const Expr& a, const Expr& b) const;

  int depth_ = 0;
  int budget_ = 20'000;  // Steps left; once it is spent, the rest stays as it is.
  bool is_in_connective_ = false;
};

// As above, where sums are concerned: sums are lists of scaled splits of indices, each written once.
Expr SimplifySums(Simplifier& owner, const Expr& e);

// The condition with its negation moved inside, comparisons as < and <=.
Expr NormalizedCondition(const Expr& e);

}  // namespace lathe
