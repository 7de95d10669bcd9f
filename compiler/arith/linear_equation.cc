#include "compiler/arith/linear_equation.h"

#include <algorithm>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// Coefficients, then the rest.
using Row = std::vector<Expr>;

class RowBuilder {
 public:
  explicit RowBuilder(const std::vector<Var>& vars) : vars_(vars) {}

  std::optional<Row> Build(const Expr& e) const {
    if (!Uses(e)) return Constant(e);
    if (!IsIndexType(e.dtype())) return std::nullopt;
    for (size_t i = 0; i < vars_.size(); ++i) {
      if (!vars_[i].same_as(e)) continue;
      Row row(vars_.size() + 1, IntConst(e.dtype(), 0));
      row[i] = IntConst(e.dtype(), 1);
      return row;
    }
    const Binary* op = e.As<Binary>();
    if (op == nullptr) return std::nullopt;
    const bool is_sum = op->op == BinaryOp::kAdd || op->op == BinaryOp::kSub;
    if (!is_sum && op->op != BinaryOp::kMul) return std::nullopt;
    std::optional<Row> a = Build(op->a), b = Build(op->b);
    if (!a || !b) return std::nullopt;
    if (!is_sum && Uses(op->a) && Uses(op->b)) return std::nullopt;
    if (!is_sum && !Uses(op->a)) std::swap(a, b);
    for (size_t i = 0; i < a->size(); ++i) (*a)[i] = FoldBinary(op->op, (*a)[i], is_sum ? (*b)[i] : b->back());
    return a;
  }

 private:
  bool Uses(const Expr& e) const {
    return UsesVar(e, [&](const ExprNode* used) {
      return std::any_of(vars_.begin(), vars_.end(), [&](const Var& var) { return var.get() == used; });
    });
  }
  Row Constant(const Expr& e) const {
    Row row(vars_.size(), IntConst(IsIndexType(e.dtype()) ? e.dtype() : kIndexType, 0));
    row.push_back(e);
    return row;
  }
  const std::vector<Var>& vars_;
};

// a op b, for one comparison of integers. False: it says nothing that bounds can.
bool AddBounds(const Binary& op, const std::vector<Var>& vars, std::vector<ClipBound>& bounds) {
  const bool is_equal = op.op == BinaryOp::kEQ, is_less = op.op == BinaryOp::kLT || op.op == BinaryOp::kLE;
  if (!is_equal && !is_less && op.op != BinaryOp::kGT && op.op != BinaryOp::kGE) return false;
  if (!IsIndexType(op.a.dtype())) return false;
  const bool is_strict = op.op == BinaryOp::kLT || op.op == BinaryOp::kGT;
  const Expr difference = is_less || is_equal ? op.a - op.b : op.b - op.a;  // <= 0, or == 0
  const Row row = DetectLinearEquation(is_strict ? difference + 1 : difference, vars);
  std::optional<size_t> place;
  for (size_t i = 0; i + 1 < row.size(); ++i) {
    if (IsConstInt(row[i], 0)) continue;
    if (place || AsIntConst(row[i]) == nullptr) return false;
    place = i;
  }
  if (!place) return false;
  const Analyzer analyzer;
  const int64_t scale = *AsIntConst(row[*place]);
  if (is_equal && scale != 1 && scale != -1) return false;
  const Expr zero = IntConst(op.a.dtype(), 0), size = IntConst(op.a.dtype(), std::abs(scale));
  // scale * x <= -rest: x <= -rest // scale, or x >= ceil(rest / -scale).
  const Expr high = analyzer.Simplify(FloorDiv(zero - row.back(), size));
  const Expr low = analyzer.Simplify(FloorDiv(row.back() + (size - 1), size));
  ClipBound& bound = bounds[*place];
  const Expr end = scale > 0 ? high : low;
  if (scale > 0 || is_equal) bound.max = bound.max ? Min(*bound.max, end) : end;
  if (scale < 0 || is_equal) bound.min = bound.min ? Max(*bound.min, end) : end;
  return true;
}

bool AddConjunction(const Expr& condition, const std::vector<Var>& vars, std::vector<ClipBound>& bounds) {
  if (const Not* opposite = condition.As<Not>()) {
    const Expr negated = Negated(opposite->a);
    return negated.As<Not>() == nullptr && AddConjunction(negated, vars, bounds);
  }
  const Binary* op = condition.As<Binary>();
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAnd) return AddConjunction(op->a, vars, bounds) && AddConjunction(op->b, vars, bounds);
  return AddBounds(*op, vars, bounds);
}

}  // namespace

std::vector<Expr> DetectLinearEquation(const Expr& e, const std::vector<Var>& vars) {
  std::optional<Row> row = RowBuilder(vars).Build(e);
  if (!row) return {};
  const Analyzer analyzer;
  for (Expr& part : *row) part = analyzer.Simplify(part);
  return *std::move(row);
}

std::vector<ClipBound> DetectClipBound(const Expr& condition, const std::vector<Var>& vars) {
  std::vector<ClipBound> bounds(vars.size());
  if (!AddConjunction(condition, vars, bounds)) return {};
  return bounds;
}

}  // namespace lathe
