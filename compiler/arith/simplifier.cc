#include "compiler/arith/simplifier.h"

#include "compiler/arith/linear.h"
#include "compiler/arith/rule_simplifier.h"

namespace lathe {
namespace {

// Two rounds: what one round makes may be simplified further.
constexpr int kRounds = 2;

bool IsPureCondition(const Expr& e) {
  bool is_pure = e.dtype().is_bool() && e.dtype().is_scalar();
  PostOrderVisit(e, [&](const Expr& part) {
    const Call* call = part.As<Call>();
    is_pure &=
        part.As<BufferLoad>() == nullptr && part.As<FuncCall>() == nullptr && (call == nullptr || call->op->is_pure);
  });
  return is_pure;
}

// What follows from other conditions is not used: x < y and y < 8 leave x < 7 as it is.
bool BoundsByConstant(const Expr& e) {
  const Binary* op = e.As<Binary>();
  return op == nullptr || AsIntConst(op->a) != nullptr || AsIntConst(op->b) != nullptr;
}

}  // namespace

Simplifier::Scope::~Scope() {
  simplifier_.literals_.resize(num_literals_, True());
  simplifier_.ranges_.resize(num_ranges_, True());
  while (simplifier_.values_.size() > num_values_) simplifier_.values_.pop_back();
}

void Simplifier::Bind(const Var& var, const Range& range) {
  if (IsConstInt(range.extent, 1)) return Bind(var, range.min);
  analyzer_.Bind(var, range);
  if (!extensions_.transitively_prove_inequalities) return;
  ranges_.insert(ranges_.end(), {LessEqual(range.min, var), Less(var, RewriteSimplify(range.min + range.extent))});
}

void Simplifier::Bind(const Var& var, const Expr& value) {
  const Expr simple = RewriteSimplify(CanonicalSimplify(value));
  analyzer_.Bind(var, simple);
  if (simple.dtype() == var.dtype() && !UsesVar(simple, var.get())) values_.emplace_back(var, simple);
}

void Simplifier::Assume(const Expr& condition) {
  for (const Expr& part : ConjunctsOf(RewriteSimplify(condition))) {
    if (part.As<IntImm>() != nullptr || !IsPureCondition(part)) continue;
    const Expr opposite = NormalizedCondition(Expr::Make(part.dtype(), Not{part}));
    literals_.push_back(part);
    literals_.push_back(Expr::Make(part.dtype(), Not{opposite}));
    if (BoundsByConstant(part) || extensions_.transitively_prove_inequalities) analyzer_.Assume(part);
  }
}

const Expr* Simplifier::ValueOf(const ExprNode* var) const {
  for (size_t i = values_.size(); i-- > 0;)
    if (values_[i].first.get() == var) return &values_[i].second;
  return nullptr;
}

Expr Simplifier::RewriteSimplify(const Expr& e) {
  Expr result = e;
  for (int round = 0; round < kRounds; ++round) {
    Expr next = RuleSimplifier(*this)(result);
    if (SameExpr(next, result)) break;
    result = std::move(next);
  }
  return result;
}

Expr Simplifier::CanonicalSimplify(const Expr& e) {
  const Expr result = SimplifySums(*this, e);
  return SameExpr(result, e) ? e : result;
}

Expr Simplifier::Simplify(const Expr& e, int steps) {
  if (e.As<IntImm>() != nullptr) return e;
  Expr result = CanonicalSimplify(e);
  for (int step = 0; step < steps && result.As<IntImm>() == nullptr; ++step)
    result = step % 2 == 0 ? RewriteSimplify(result) : CanonicalSimplify(result);
  return SameExpr(result, e) ? e : result;
}

bool Simplifier::CanProveEqual(const Expr& a, const Expr& b) {
  if (analyzer_.CanProveEqual(a, b)) return true;
  return IsIndexType(a.dtype()) && a.dtype() == b.dtype() && IsConstInt(Simplify(a - b), 0);
}

bool Simplifier::CanProve(const Expr& condition) {
  if (analyzer_.CanProve(condition)) return true;
  const Expr simple = Simplify(condition);
  const int64_t* known = AsIntConst(simple);
  return known != nullptr && *known != 0;
}

}  // namespace lathe
