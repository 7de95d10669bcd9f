#include "compiler/topi/broadcast.h"

#include <algorithm>

#include "compiler/ir/structural.h"
#include "compiler/script/checked_expr.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

struct Row {
  std::string_view name;
  std::optional<BinaryOp> op;
  std::string_view call;  // Where there is no op.
};
constexpr Row kRows[] = {
    {"add", BinaryOp::kAdd, ""},
    {"subtract", BinaryOp::kSub, ""},
    {"multiply", BinaryOp::kMul, ""},
    {"divide", BinaryOp::kDiv, ""},
    {"floor_divide", BinaryOp::kFloorDiv, ""},
    {"mod", BinaryOp::kTruncMod, ""},
    {"floor_mod", BinaryOp::kFloorMod, ""},
    {"maximum", BinaryOp::kMax, ""},
    {"minimum", BinaryOp::kMin, ""},
    {"equal", BinaryOp::kEQ, ""},
    {"not_equal", BinaryOp::kNE, ""},
    {"less", BinaryOp::kLT, ""},
    {"less_equal", BinaryOp::kLE, ""},
    {"greater", BinaryOp::kGT, ""},
    {"greater_equal", BinaryOp::kGE, ""},
    {"logical_and", BinaryOp::kAnd, ""},
    {"logical_or", BinaryOp::kOr, ""},
    {"logical_xor", BinaryOp::kNE, ""},
    {"power", std::nullopt, "pow"},
    {"atan2", std::nullopt, "atan2"},
    {"bitwise_and", std::nullopt, "bitwise_and"},
    {"bitwise_or", std::nullopt, "bitwise_or"},
    {"bitwise_xor", std::nullopt, "bitwise_xor"},
    {"left_shift", std::nullopt, "shift_left"},
    {"right_shift", std::nullopt, "shift_right"},
};

const Row* FindRow(std::string_view name) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

bool IsOne(const Expr& extent) { return IsConstInt(extent, 1); }

// The element of `x` at the point of `shape`, to which it is brought: 0 where it has one and the shape has more.
Expr ElementAt(const Operand& x, const Point& point, const Shape& shape) {
  const Tensor* tensor = std::get_if<Tensor>(&x);
  if (tensor == nullptr) return std::get<Expr>(x);
  Point index(point.end() - static_cast<int64_t>(tensor->ndim()), point.end());
  const size_t skipped = shape.size() - index.size();
  for (size_t i = 0; i < index.size(); ++i) {
    if (IsOne(tensor->shape()[i]) && !IsOne(shape[skipped + i])) index[i] = IntConst(index[i].dtype(), 0);
  }
  return (*tensor)(std::move(index));
}

StatusOr<Expr> CombinedValue(const Row& row, Expr a, Expr b) {
  const bool is_logical = row.name.starts_with("logical");
  if (is_logical && !(a.dtype().is_bool() && b.dtype().is_bool()))
    return InvalidArgument("expected two bools, got " + a.dtype().ToString() + " and " + b.dtype().ToString());
  const bool are_floats = a.dtype().is_float() || b.dtype().is_float();
  const bool floors = row.op == BinaryOp::kFloorDiv || row.op == BinaryOp::kFloorMod;
  if (floors && are_floats) {  // floor(a / b), a - floor(a / b) * b
    ASSIGN_OR_RETURN(Expr quotient, CombineExprs(BinaryOp::kDiv, a, b));
    ASSIGN_OR_RETURN(Expr whole, CallExpr(*FindOp("floor"), {std::move(quotient)}));
    if (row.op == BinaryOp::kFloorDiv) return whole;
    ASSIGN_OR_RETURN(whole, CombineExprs(BinaryOp::kMul, std::move(whole), b));
    return CombineExprs(BinaryOp::kSub, std::move(a), std::move(whole));
  }
  if (row.op) return CombineExprs(*row.op, std::move(a), std::move(b));
  return CallExpr(*FindOp(row.call), {std::move(a), std::move(b)});
}

std::vector<std::string_view> NamesOfRows() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace

std::span<const std::string_view> BinaryNames() {
  static const std::vector<std::string_view> names = NamesOfRows();
  return names;
}

StatusOr<Shape> BroadcastShape(std::string_view op, const Shape& a, const Shape& b) {
  Shape shape = a.size() >= b.size() ? a : b;
  const Shape& other = a.size() >= b.size() ? b : a;
  const size_t skipped = shape.size() - other.size();
  for (size_t i = 0; i < other.size(); ++i) {
    Expr& extent = shape[skipped + i];
    const Expr& wanted = other[i];
    if (IsOne(wanted)) continue;
    const bool is_known = AsIntConst(extent) != nullptr || StructuralEqual(extent, wanted);
    if (IsOne(extent) || (!is_known && AsIntConst(wanted) != nullptr)) {
      extent = wanted;
    } else if (!MayEqual(extent, wanted)) {
      return OperatorError(op, "extents " + std::to_string(*AsIntConst(extent)) + " and " +
                                   std::to_string(*AsIntConst(wanted)) + " cannot be brought together; one must be 1");
    }
  }
  return shape;
}

StatusOr<Operand> Binary(std::string_view name, const Operand& a, const Operand& b) {
  const Row* row = FindRow(name);
  if (row == nullptr) return OperatorError(name, "no operator of two operands has this name");
  ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(name, ShapeOf(a), ShapeOf(b)));
  const te::ComputeOptions options = Ax("T_" + std::string(name), kBroadcast, shape.size());
  const std::vector<IterVar> axis = te::MakeAxes(shape, options);
  Point point;
  for (const IterVar& iter : axis) point.push_back(iter.var);
  StatusOr<Expr> value = CombinedValue(*row, ElementAt(a, point, shape), ElementAt(b, point, shape));
  if (!value.ok()) return value.status().WithContext("topi." + std::string(name));
  if (std::holds_alternative<Expr>(a) && std::holds_alternative<Expr>(b)) return Operand(*value);
  ASSIGN_OR_RETURN(const te::Operation op, te::MakeCompute(axis, {*value}, options));
  return Operand(op->output(0));
}

StatusOr<Tensor> BroadcastTo(const Tensor& x, const Shape& shape) {
  if (shape.size() < x.ndim())
    return OperatorError("broadcast_to", "the shape has fewer dimensions than \"" + x.name() + "\"");
  ASSIGN_OR_RETURN(const Shape common, BroadcastShape("broadcast_to", shape, x.shape()));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!MayEqual(common[i], shape[i]))
      return OperatorError("broadcast_to",
                           "\"" + x.name() + "\" does not fit into the shape in dimension " + std::to_string(i));
  }
  return te::Compute(
      shape, [&](const Point& at) { return ElementAt(x, at, shape); }, Ax("T_broadcast_to", kBroadcast, shape.size()));
}

StatusOr<Tensor> Where(const Tensor& condition, const Operand& x, const Operand& y) {
  ASSIGN_OR_RETURN(Shape shape, BroadcastShape("where", ShapeOf(x), ShapeOf(y)));
  ASSIGN_OR_RETURN(shape, BroadcastShape("where", shape, condition.shape()));
  if (TypeOf(x) != TypeOf(y))
    return OperatorError("where", "x is " + TypeOf(x).ToString() + " and y is " + TypeOf(y).ToString() + "; cast one");
  return te::Compute(
      shape,
      [&](const Point& at) {
        const Expr test = ElementAt(condition, at, shape);
        const Expr holds = test.dtype().is_bool() ? Less(0, MakeCast(kIndexType, test))
                                                  : MakeBinary(BinaryOp::kNE, test, NumberOf(test.dtype(), 0));
        return MakeSelect(holds, ElementAt(x, at, shape), ElementAt(y, at, shape));
      },
      Ax("T_where", kBroadcast, shape.size()));
}

}  // namespace lathe::topi
