// Rewrites expressions to their canonical form. Lives for one call of the Analyzer.
#pragma once

#include <optional>
#include <vector>

#include "compiler/arith/analyzer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace lathe {

class Canonicalizer : private StmtExprMutator {
 public:
  explicit Canonicalizer(const Analyzer& analyzer) : facts_(&analyzer.facts_) {}

  // Any expression. The handle itself where nothing changed.
  Expr Rewrite(const Expr& e);
  // False: a rule built something that another pass may simplify further.
  bool is_settled() const { return is_settled_; }
  // Of an expression of index type.
  LinearForm Form(const Expr& e);

  void AddForm(LinearForm& sum, const LinearForm& other, int64_t factor);  // sum += other * factor

  // Adds to `facts` what `condition` says; `about_dividends`: of x // 3 < 5 also what it says about x.
  void Learn(const Expr& condition, Facts& facts, bool about_dividends = false);
  // A form that is not negative just where `form` is, with a quotient less; nullopt: it has no quotient by itself.
  std::optional<LinearForm> WithoutQuotient(const LinearForm& form);
  // Bounds with the help of assumed conditions.
  IntBound Bound(const LinearForm& form) const;
  bool IsNonNegative(const LinearForm& form);
  // Whether an assumed condition is about a multiple of the form: x > -1 where 4 * x + y >= 0 and y is below 4.
  bool IsPartNonNegative(const LinearForm& form) const;
  // Of a cast from an index; what wraps keeps its remainders by powers of 2. Of anything else: nothing known.
  ModularSet ModularOfCast(const Expr& e);
  ModularSet Modular(const LinearForm& form);

 private:
  Expr VisitExpr(const Expr& e) override { return Rewrite(e); }
  ModularSet ModularOfSource(const Expr& source);

  // simplify_index.cc, simplify_min_max.cc: integers.
  // sum += e * factor, where `e` adds up multiples of variables and of their quotients and remainders by constants, as
  // most indices do: no rule but that of like terms applies. False: it is something else, and `sum` means nothing.
  bool AddPlain(const Expr& e, int64_t factor, LinearForm& sum);
  bool AddPlainVar(const Expr& var, int64_t factor, LinearForm& sum) const;
  LinearForm FormOfBinary(const Expr& e, const Binary& op);
  LinearForm FormOfFloorDiv(const Expr& e, const Binary& op);
  // `a` = quotient * divisor + rest, for a divisor that is no constant; as much in the quotient as divides exactly.
  struct Quotient {
    LinearForm quotient, rest;
  };
  Quotient DivideSymbolic(const LinearForm& a, const LinearForm& divisor, DataType type);
  void JoinSymbolic(LinearForm& sum);  // x // n * n + x % n = x
  LinearForm FormOfFloorMod(const Expr& e, const Binary& op);
  LinearForm FormOfCast(const Expr& e, const Cast& cast);
  IntBound BoundOfInteger(const Expr& value);
  IntBound BoundOfCall(const Call& call, DataType type);
  LinearForm FormOfMul(const Expr& e, const Binary& op);
  LinearForm FormOfTruncated(const Expr& e, const Binary& op);
  LinearForm FormOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b);
  // min(x, max(x, y)) = x, min(x, min(x, y)) = min(x, y): the side that is the whole; nullptr: neither.
  const LinearForm* Absorbed(BinaryOp op, const LinearForm& a, const LinearForm& b);
  // What both sides share, or are multiples of, stands outside; nullopt: nothing.
  std::optional<LinearForm> SharedOutOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b);
  std::optional<LinearForm> FactorOutOfMinMax(const Expr& e, BinaryOp op, LinearForm a, LinearForm b);
  LinearForm FormOfChoice(const Expr& e);
  LinearForm DivConst(LinearForm form, int64_t divisor, DataType type);
  LinearForm ModConst(LinearForm form, int64_t divisor, DataType type);
  LinearForm Opaque(Expr source, IntBound bound) const;
  LinearForm Rebuild(const Expr& e, const Binary& op, const LinearForm& a, const LinearForm& b, IntBound bound);
  void AddTerm(LinearForm& sum, Term term);
  // min(a, b) + rest becomes min(a + rest, b + rest) where that makes one side a constant.
  void DistributeMinMax(LinearForm& form, DataType type);
  // floor(form / step) + k as a form, where the terms that `step` does not divide fill less than one step; nullopt
  // otherwise. `left` gets form - step * result, which is in [0, step).
  std::optional<LinearForm> DropBelow(const LinearForm& form, int64_t step, LinearForm* left) const;

  // simplify_vector.cc
  Expr RewriteVector(const Expr& e);
  std::optional<Expr> RingOfLanes(const Binary& op, DataType shape);
  std::optional<Expr> QuotientOfRamp(const Binary& op, DataType shape);

  // simplify_bool.cc: conditions and choices.
  Expr RewriteBinary(const Expr& e, const Binary& op);
  Expr RewriteComparison(const Expr& e, const Binary& op);
  void DropLimit(LinearForm& form);
  void TightenBelowZero(LinearForm& form);
  bool IsKnownNonNegative(const LinearForm& form) const;
  // A form that is nowhere more: x - c + 1 for x // c * c, and x for it where it is subtracted; nullopt: no such term.
  std::optional<LinearForm> WithoutQuotients(const LinearForm& form);
  std::optional<bool> Decide(BinaryOp op, const LinearForm& difference);
  Expr RewriteConnective(const Expr& e, BinaryOp op);
  Expr RewriteNot(const Expr& e, const Not& op);
  Expr RewriteChoice(const Expr& e, const Expr& condition, const Expr& true_value, const Expr& false_value);

  Facts facts_;  // What is learnt on the way down, over the analyzer's.
  // Steps left. Some rules look at an operand twice, which deep nesting would multiply; once it is spent, the rest
  // stays as it is.
  int budget_ = 20'000;
  bool is_settled_ = true;
};

const Op* LikelyOp();  // T.likely(condition), which is the condition.
// The constant that an operation on the bits of constants is.
std::optional<Expr> FoldBits(const Call& call, DataType type);

// `form` >= 0 from now on.
void LearnNonNegative(Facts& facts, const LinearForm& form);

// What holds where `e` does not: comparisons turn round, and and or change places.
Expr Negated(const Expr& e);

// The operands of a T.if_then_else or Select; nullopt for others.
struct Choice {
  const Expr &condition, &true_value, &false_value;
};
std::optional<Choice> AsChoice(const Expr& e);

}  // namespace lathe
