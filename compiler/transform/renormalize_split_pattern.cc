#include "compiler/transform/renormalize_split_pattern.h"

#include "compiler/ir/integer.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

constexpr int kMaxDepth = 5;

const Binary* AsBinary(const Expr& e, BinaryOp op) {
  const Binary* binary = e.As<Binary>();
  return binary != nullptr && binary->op == op ? binary : nullptr;
}
// The number that all lanes are.
std::optional<int64_t> NumberOf(const Expr& e) {
  const Broadcast* lanes = e.As<Broadcast>();
  const int64_t* value = AsIntConst(lanes == nullptr ? e : lanes->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}
Expr FloorDivided(const Expr& x, int64_t by) { return FoldBinary(BinaryOp::kFloorDiv, x, IntConst(x.dtype(), by)); }

class SplitRenormalizer : public StmtExprMutator {
 protected:
  Expr VisitExpr(const Expr& e) override {
    const Binary* op = e.As<Binary>();
    if (op != nullptr && op->op == BinaryOp::kLE) return VisitExpr(MakeNot(Below(op->b, op->a)));
    if (op != nullptr && op->op == BinaryOp::kGT) return VisitExpr(Below(op->b, op->a));
    if (op != nullptr && op->op == BinaryOp::kGE) return VisitExpr(MakeNot(Below(op->a, op->b)));
    if (op != nullptr && op->op == BinaryOp::kLT) return VisitBelow(*op);
    if (op != nullptr && op->op == BinaryOp::kFloorDiv) return VisitDivision(*op);
    const Expr visited = StmtExprMutator::VisitExpr(e);
    const Not* negated = visited.As<Not>();
    return negated == nullptr ? visited : Negated(visited, negated->a);
  }

 private:
  static Expr Below(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kLT, a, b); }
  Expr Again(const Expr& e) {
    if (depth_ >= kMaxDepth) return e;
    ++depth_;
    Expr rewritten = VisitExpr(e);
    --depth_;
    return rewritten;
  }
  static Expr Negated(const Expr& self, const Expr& e) {
    if (const Not* twice = e.As<Not>()) return twice->a;
    const Binary* op = e.As<Binary>();
    if (op == nullptr) return self;
    if (op->op == BinaryOp::kLE) return Below(op->b, op->a);
    if (op->op == BinaryOp::kGE) return Below(op->a, op->b);
    if (op->op == BinaryOp::kLT) return FoldBinary(BinaryOp::kLE, op->b, op->a);
    if (op->op == BinaryOp::kGT) return FoldBinary(BinaryOp::kLE, op->a, op->b);
    return self;
  }
  Expr VisitBelow(const Binary& op) {
    const Expr a = VisitExpr(op.a), b = VisitExpr(op.b);
    const int64_t* number = AsIntConst(b);
    if (number == nullptr || *number <= 0 || !a.dtype().is_int() || !a.dtype().is_scalar())
      return MakeBinary(BinaryOp::kLT, a, b);
    return Again(Below(FloorDivided(a, *number), IntConst(a.dtype(), 1)));
  }
  Expr VisitDivision(const Binary& op) {
    const Expr a = VisitExpr(op.a), b = VisitExpr(op.b);
    const Expr quotient = FoldBinary(BinaryOp::kFloorDiv, a, b);
    const Binary* division = AsBinary(quotient, BinaryOp::kFloorDiv);
    const std::optional<int64_t> by = division == nullptr ? std::nullopt : NumberOf(division->b);
    if (!by || *by == 0) return quotient;
    const Binary* remainder = AsBinary(division->a, BinaryOp::kFloorMod);
    const std::optional<int64_t> of = remainder == nullptr ? std::nullopt : NumberOf(remainder->b);
    if (of && *of % *by == 0)
      return Again(FoldBinary(BinaryOp::kFloorMod, FloorDivided(remainder->a, *by), IntConst(a.dtype(), *of / *by)));
    const Binary* sum = AsBinary(division->a, BinaryOp::kAdd);
    if (sum == nullptr || *by < 0) return quotient;
    if (const std::optional<Expr> less = DividedSum(sum->a, sum->b, *by)) return Again(*less);
    const Binary* inner = AsBinary(sum->a, BinaryOp::kAdd);
    const std::optional<Expr> less =
        inner == nullptr ? std::nullopt : DividedSum(inner->a, FoldBinary(BinaryOp::kAdd, inner->b, sum->b), *by);
    return less ? Again(*less) : quotient;
  }
  // (x * factor + rest) // by, where factor and by have a divisor in common.
  static std::optional<Expr> DividedSum(const Expr& product, const Expr& rest, int64_t by) {
    const Binary* multiple = AsBinary(product, BinaryOp::kMul);
    const std::optional<int64_t> factor = multiple == nullptr ? std::nullopt : NumberOf(multiple->b);
    if (!factor || *factor <= 0) return std::nullopt;
    const int64_t common = GreatestCommonDivisor(*factor, by);
    if (common <= 1) return std::nullopt;
    const Expr& x = multiple->a;
    const Expr scaled = FoldBinary(BinaryOp::kMul, x, IntConst(x.dtype(), *factor / common));
    return FloorDivided(FoldBinary(BinaryOp::kAdd, scaled, FloorDivided(rest, common)), by / common);
  }

  int depth_ = 0;
};

}  // namespace

PrimFunc RenormalizeSplitPattern(PrimFunc func) {
  func.body = SplitRenormalizer{}(func.body);
  return func;
}

}  // namespace lathe
