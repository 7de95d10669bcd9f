#include "compiler/arith/deduce_bound.h"

#include "compiler/arith/iter_rewriter.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Solves target (<=, >=, ==) result for a variable in `target`, from the outside inwards. What `analyzer` knows decides
// how to solve; variables that are not relaxed stand in the result as they are.
class Deducer {
 public:
  enum class Relation : uint8_t { kAtMost, kAtLeast, kEqual };

  Deducer(const Var& var, Relation relation, Expr result, const DomMap& relax, const Analyzer& analyzer)
      : var_(var), relation_(relation), result_(std::move(result)), relax_(relax), analyzer_(analyzer) {}

  // False: it cannot be solved.
  bool Solve(const Expr& target);
  IntSet Result() const;

 private:
  bool Uses(const Expr& e) const { return UsesVar(e, var_.get()); }
  void TurnRound() {
    if (relation_ == Relation::kEqual) return;
    relation_ = relation_ == Relation::kAtMost ? Relation::kAtLeast : Relation::kAtMost;
  }
  bool SolveProduct(const Expr& part, const Expr& factor);
  bool SolveQuotient(const Expr& part, const Expr& divisor);
  // `result_` for the worst that the relaxed variables can be; false: it has no such value.
  bool Relax();

  const Var& var_;
  Relation relation_;
  Expr result_;
  const DomMap& relax_;
  const Analyzer& analyzer_;
};

bool Deducer::Relax() {
  if (relax_.empty()) return true;
  const IntSet set = EvalSet(result_, relax_, analyzer_);
  if (set.is_nothing()) return false;
  if (relation_ == Relation::kEqual && !set.is_point()) return false;
  const std::optional<Expr>& worst = relation_ == Relation::kAtLeast ? set.max() : set.min();
  if (worst) result_ = *worst;
  return worst.has_value();
}

bool Deducer::Solve(const Expr& target) {
  if (target.same_as(var_)) return Relax();
  const Binary* op = target.As<Binary>();
  if (op == nullptr || !IsIndexType(target.dtype()) || (Uses(op->a) && Uses(op->b))) return false;
  const bool is_left = Uses(op->a);
  const Expr &part = is_left ? op->a : op->b, &other = is_left ? op->b : op->a;
  switch (op->op) {
    case BinaryOp::kAdd:
      result_ = result_ - other;
      return Solve(part);
    case BinaryOp::kSub:
      result_ = is_left ? result_ + other : other - result_;
      if (!is_left) TurnRound();
      return Solve(part);
    case BinaryOp::kMul:
      return SolveProduct(part, other);
    case BinaryOp::kFloorDiv:
      return is_left && SolveQuotient(part, other);
    default:
      return false;
  }
}

bool Deducer::SolveProduct(const Expr& part, const Expr& factor) {
  const IntBound sign = analyzer_.ConstIntBound(factor);
  if (sign.min <= 0 && sign.max >= 0) return false;
  if (!Relax()) return false;
  if (sign.max < 0) TurnRound();
  const bool divides = IsDivisible(analyzer_, result_, factor);
  if (relation_ == Relation::kEqual && !divides) return false;
  const bool rounds_up = relation_ == Relation::kAtLeast && !divides;
  result_ = Simplifier().Simplify(rounds_up ? FloorDiv(result_, factor) + 1 : FloorDiv(result_, factor));
  return Solve(part);
}

// part // c <= r is part <= r*c + c - 1; part // c >= r is part >= r*c.
bool Deducer::SolveQuotient(const Expr& part, const Expr& divisor) {
  if (relation_ == Relation::kEqual || !analyzer_.CanProveGreaterEqual(divisor, 1) || !Relax()) return false;
  result_ = result_ * divisor;
  if (relation_ == Relation::kAtMost) result_ = result_ + (divisor - 1);
  return Solve(part);
}

IntSet Deducer::Result() const {
  const Expr end = Simplifier().Simplify(result_);
  if (relation_ == Relation::kEqual) return IntSet::Point(end);
  return relation_ == Relation::kAtMost ? IntSet::Interval(std::nullopt, end) : IntSet::Interval(end, std::nullopt);
}

}  // namespace

IntSet DeduceBound(const Var& var, const Expr& condition, const DomMap& hints, const DomMap& relax) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || !IsIndexType(op->a.dtype()) || op->op < BinaryOp::kEQ || op->op > BinaryOp::kGE)
    return IntSet::Nothing();
  Analyzer analyzer;
  for (const DomMap* known : {&hints, &relax}) {
    for (const auto& [other, set] : known->items()) {
      if (const auto range = set.ToRange(Analyzer())) analyzer.Bind(other, *range);
    }
  }
  const auto uses = [&](const Expr& e) { return UsesVar(e, var.get()); };
  const bool is_left = uses(op->a);
  if (op->op == BinaryOp::kNE || is_left == uses(op->b)) return IntSet::Nothing();
  Expr bound = is_left ? op->b : op->a;
  using Relation = Deducer::Relation;
  Relation relation = Relation::kEqual;
  if (op->op != BinaryOp::kEQ) {
    const bool is_less = op->op == BinaryOp::kLT || op->op == BinaryOp::kLE;
    relation = is_less == is_left ? Relation::kAtMost : Relation::kAtLeast;
    if (op->op == BinaryOp::kLT || op->op == BinaryOp::kGT)
      bound = relation == Relation::kAtMost ? bound - 1 : bound + 1;
  }
  Deducer deducer(var, relation, std::move(bound), relax, analyzer);
  return deducer.Solve(is_left ? op->a : op->b) ? deducer.Result() : IntSet::Nothing();
}

}  // namespace lathe
