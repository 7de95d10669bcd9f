#include "compiler/transform/lower_intrin.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "compiler/arith/analyzer.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Operations that every target takes: TVM has no rule for them.
bool IsTakenByAll(const Op& op) {
  static constexpr std::string_view kNames[] = {"bitwise_and", "bitwise_not",  "bitwise_or",
                                                "bitwise_xor", "if_then_else", "likely",
                                                "reinterpret", "shift_left",   "shift_right"};
  return !op.is_pure || std::find(std::begin(kNames), std::end(kNames), op.name) != std::end(kNames);
}

class DivisionLowerer : public StmtExprMutator {
 public:
  DivisionLowerer(std::string kind, const IntrinRule& rule) : kind_(std::move(kind)), rule_(rule) {}
  std::string refused;  // An operation of which nothing is known here.

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const FactScope inside(analyzer_, loop.loop_var, Range{loop.min, loop.extent});
    return StmtExprMutator::VisitFor(self, loop);
  }
  Block VisitBlock(const Block& block) override {
    const FactScope inside(analyzer_);
    for (const IterVar& iter : block->iter_vars) analyzer_.Bind(iter.var, iter.domain);
    return StmtExprMutator::VisitBlock(block);
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
      IfThenElse copy = *branch;
      copy.condition = VisitExpr(branch->condition);
      copy.then_case = Under(branch->condition, branch->then_case);
      if (branch->else_case) copy.else_case = Under(MakeNot(branch->condition), *branch->else_case);
      return copy;
    }
    const FactScope inside(analyzer_);
    if (const LetStmt* let = stmt.As<LetStmt>(); let != nullptr && let->value.dtype().is_int())
      analyzer_.Bind(let->var, let->value);
    const AttrStmt* attr = stmt.As<AttrStmt>();
    const IterVar* axis = attr == nullptr ? nullptr : std::get_if<IterVar>(&attr->node);
    if (axis != nullptr) analyzer_.Bind(axis->var, Range{IntConst(attr->value.dtype(), 0), attr->value});
    return StmtExprMutator::VisitStmt(stmt);
  }
  Expr VisitExpr(const Expr& e) override {
    if (const Select* select = e.As<Select>()) {
      const auto [condition, yes, no] = Branches(select->condition, select->true_value, select->false_value);
      return MakeSelect(condition, yes, no);
    }
    if (const Call* call = e.As<Call>()) {
      const std::optional<Expr> ruled = rule_(kind_, e);
      if (ruled && !ruled->same_as(e)) return VisitExpr(*ruled);
      if (!IsTakenByAll(*call->op)) refused = call->op->name;
      if (call->op->name != "if_then_else") return StmtExprMutator::VisitExpr(e);
      const auto [condition, yes, no] = Branches(call->args[0], call->args[1], call->args[2]);
      return Expr::Make(e.dtype(), Call{call->op, {condition, yes, no}});
    }
    const Binary* op = e.As<Binary>();
    return op == nullptr ? StmtExprMutator::VisitExpr(e) : VisitBinary(e, *op);
  }

 private:
  Stmt Under(const Expr& condition, const Stmt& stmt) {
    const FactScope inside(analyzer_, condition);
    return VisitStmt(stmt);
  }
  Expr Under(const Expr& condition, const Expr& e) {
    const FactScope inside(analyzer_, condition);
    return VisitExpr(e);
  }
  std::tuple<Expr, Expr, Expr> Branches(const Expr& condition, const Expr& yes, const Expr& no) {
    if (!condition.dtype().is_scalar()) return {VisitExpr(condition), VisitExpr(yes), VisitExpr(no)};
    return {VisitExpr(condition), Under(condition, yes), Under(MakeNot(condition), no)};
  }
  static bool IsProduct(const Expr& e) {
    const Binary* op = e.As<Binary>();
    return op != nullptr && op->op == BinaryOp::kMul;
  }
  Expr VisitBinary(const Expr& e, const Binary& op) {
    const bool is_int = e.dtype().is_int();
    if (op.op == BinaryOp::kFloorDiv && is_int) return Quotient(e, VisitExpr(op.a), VisitExpr(op.b));
    if (op.op == BinaryOp::kFloorMod && is_int) return Remainder(VisitExpr(op.a), VisitExpr(op.b));
    if (op.op == BinaryOp::kAdd && e.dtype().is_float() && (IsProduct(op.a) || IsProduct(op.b)))
      refused = "a sum of floats with a product";
    const Binary* inner = op.a.As<Binary>();
    if (op.op == BinaryOp::kMax && inner != nullptr && inner->op == BinaryOp::kFloorDiv) {
      const int64_t* least = AsIntConst(op.b);
      if (least != nullptr && *least >= 0 && IsNatural(inner->b))
        return FoldBinary(BinaryOp::kMax, Trunc(BinaryOp::kDiv, VisitExpr(inner->a), VisitExpr(inner->b)), op.b);
    }
    if ((op.op == BinaryOp::kEQ || op.op == BinaryOp::kNE) && inner != nullptr && inner->op == BinaryOp::kFloorMod &&
        inner->a.dtype().is_int() && IsConstInt(op.b, 0))
      return FoldBinary(op.op, Trunc(BinaryOp::kTruncMod, VisitExpr(inner->a), VisitExpr(inner->b)), op.b);
    return StmtExprMutator::VisitExpr(e);
  }

  static Expr Number(const Expr& like, int64_t value) { return IntConst(like.dtype(), value); }
  static Expr Trunc(BinaryOp op, const Expr& a, const Expr& b) { return FoldBinary(op, a, b); }
  static Expr Sum(const Expr& a, const Expr& b) { return FoldBinary(BinaryOp::kAdd, a, b); }
  bool IsNatural(const Expr& e) const {
    const bool is_unsigned = e.dtype().is_int() && !e.dtype().is_signed_int();
    return is_unsigned || analyzer_.CanProve(FoldBinary(BinaryOp::kGE, e, Number(e, 0)));
  }
  // All bits of the sign: -1 or 0.
  static bool HasWideSign(const Expr& e) { return e.dtype() == DataType::Int(32) || e.dtype() == DataType::Int(64); }
  static Expr SignOf(const Expr& e) { return MakeCall(e.dtype(), "shift_right", {e, Number(e, e.dtype().bits - 1)}); }
  static std::optional<int64_t> PowerOfTwo(const Expr& e) {
    const Broadcast* lanes = e.As<Broadcast>();
    const int64_t* value = AsIntConst(lanes == nullptr ? e : lanes->value);
    if (value == nullptr || *value <= 0 || !std::has_single_bit(static_cast<uint64_t>(*value))) return std::nullopt;
    return *value;
  }
  // How often `b` is added to `a` until it is not negative, where that does not overflow.
  std::optional<int64_t> TimesToNatural(const Expr& a, const Expr& b) const {
    if (!HasWideSign(a)) return std::nullopt;
    const IntBound of_a = analyzer_.ConstIntBound(a), of_b = analyzer_.ConstIntBound(b);
    constexpr int64_t kSmall = int64_t{1} << 31;  // Products of two stay numbers.
    const auto is_small = [](int64_t value) { return -kSmall < value && value < kSmall; };
    if (!is_small(of_a.min) || !is_small(of_a.max) || of_b.min <= 0 || !is_small(of_b.max)) return std::nullopt;
    const int64_t times = (-of_a.min + of_b.min - 1) / of_b.min;
    const int64_t largest = of_a.max + of_b.max * times;
    return a.dtype().bits == 64 || largest < kSmall ? std::optional(times) : std::nullopt;
  }
  static Expr IsRoundedDown(const Expr& b, const Expr& remainder) {
    const auto compare = [](BinaryOp op, const Expr& e) { return FoldBinary(op, e, Number(e, 0)); };
    return FoldBinary(BinaryOp::kOr, And(compare(BinaryOp::kGE, b), compare(BinaryOp::kGE, remainder)),
                      And(compare(BinaryOp::kLT, b), compare(BinaryOp::kLE, remainder)));
  }
  Expr Quotient(const Expr& self, const Expr& a, const Expr& b) const {
    if (const std::optional<int64_t> power = PowerOfTwo(b))
      return MakeCall(a.dtype(), "shift_right", {a, Number(a, std::countr_zero(static_cast<uint64_t>(*power)))});
    const Expr quotient = Trunc(BinaryOp::kDiv, a, b), remainder = Trunc(BinaryOp::kTruncMod, a, b);
    if (!IsNatural(b)) {
      const Var rmod("rmod", a.dtype()), rdiv("rdiv", a.dtype());
      const Expr rounded = MakeSelect(IsRoundedDown(b, rmod), rdiv, rdiv - Number(a, 1));
      return Expr::Make(a.dtype(), Let{remainder, rmod, Expr::Make(a.dtype(), Let{quotient, rdiv, rounded})});
    }
    if (IsNatural(a) || IsNatural(self)) return quotient;
    if (const std::optional<int64_t> times = TimesToNatural(a, b))
      return Trunc(BinaryOp::kDiv, Sum(a, b * Number(b, *times)), b) - Number(a, *times);
    if (HasWideSign(a)) return Sum(quotient, SignOf(remainder));
    return MakeSelect(FoldBinary(BinaryOp::kGE, remainder, Number(a, 0)), quotient, quotient - Number(a, 1));
  }
  Expr Remainder(const Expr& a, const Expr& b) const {
    if (const std::optional<int64_t> power = PowerOfTwo(b))
      return MakeCall(a.dtype(), "bitwise_and", {a, Number(a, *power - 1)});
    const Expr remainder = Trunc(BinaryOp::kTruncMod, a, b);
    if (!IsNatural(b)) {
      const Var rmod("rmod", a.dtype());
      return Expr::Make(a.dtype(), Let{remainder, rmod, MakeSelect(IsRoundedDown(b, rmod), rmod, Sum(rmod, b))});
    }
    if (IsNatural(a)) return remainder;
    if (const std::optional<int64_t> times = TimesToNatural(a, b))
      return Trunc(BinaryOp::kTruncMod, Sum(a, b * Number(b, *times)), b);
    if (HasWideSign(a)) return Sum(remainder, MakeCall(a.dtype(), "bitwise_and", {b, SignOf(remainder)}));
    return MakeSelect(FoldBinary(BinaryOp::kGE, remainder, Number(a, 0)), remainder, Sum(remainder, b));
  }

  const std::string kind_;
  const IntrinRule& rule_;
  Analyzer analyzer_;
};

}  // namespace

StatusOr<PrimFunc> LowerIntrin(PrimFunc func) {
  return LowerIntrin(std::move(func), [](const std::string&, const Expr&) { return std::nullopt; });
}

StatusOr<PrimFunc> LowerIntrin(PrimFunc func, const IntrinRule& rule) {
  if (TargetOf(func.attrs) == nullptr)
    return InvalidArgument(
        fmt::format("LowerIntrin @{}: Require the target attribute; run BindTarget before", func.name));
  DivisionLowerer lowerer(TargetKind(func.attrs), rule);
  Stmt body = lowerer(func.body);
  if (!lowerer.refused.empty())
    return InvalidArgument(
        fmt::format("LowerIntrin @{}: there is no rule of a target for {}; code generation takes it as it is",
                    func.name, lowerer.refused));
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
