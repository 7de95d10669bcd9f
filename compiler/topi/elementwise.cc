#include "compiler/topi/elementwise.h"

#include <algorithm>

#include "compiler/script/checked_expr.h"
#include "support/status_macros.h"

namespace lathe::topi {
namespace {

constexpr std::string_view kNames[] = {
    "abs",  "acos",  "acosh", "asin",     "asinh", "atan",        "atanh",    "bitwise_not", "ceil",
    "cos",  "cosh",  "erf",   "exp",      "floor", "identity",    "isfinite", "isinf",       "isnan",
    "log",  "log10", "log2",  "negative", "round", "rsqrt",       "sigmoid",  "sign",        "sin",
    "sinh", "sqrt",  "tan",   "tanh",     "trunc", "logical_not",
};

using ElementValue = std::function<StatusOr<Expr>(const Expr&)>;

std::pair<std::vector<IterVar>, Point> AxesOf(const Tensor& x, const te::ComputeOptions& options) {
  std::vector<IterVar> axis = te::MakeAxes(x.shape(), options);
  Point point;
  for (const IterVar& iter : axis) point.push_back(iter.var);
  return {std::move(axis), std::move(point)};
}

// A compute whose value may be refused: it is asked once, for all points.
StatusOr<Tensor> Map(const Tensor& x, const te::ComputeOptions& options, const ElementValue& value) {
  const auto [axis, point] = AxesOf(x, options);
  ASSIGN_OR_RETURN(const Expr element, value(x(point)));
  ASSIGN_OR_RETURN(const te::Operation op, te::MakeCompute(axis, {element}, options));
  return op->output(0);
}

te::ComputeOptions Plain(std::string name = "compute") { return {.name = std::move(name), .tag = kElementwise}; }

Expr SignOf(const Expr& x) {
  const Expr zero = NumberOf(x.dtype(), 0), one = NumberOf(x.dtype(), 1);
  if (!x.dtype().is_float() && !x.dtype().is_signed_int()) return MakeSelect(Less(zero, x), one, zero);
  return MakeSelect(Less(zero, x), one, MakeSelect(Less(x, zero), NumberOf(x.dtype(), -1), zero));
}

StatusOr<Expr> UnaryValue(std::string_view name, const Expr& x) {
  if (name == "identity") return x;
  if (name == "negative") return CombineExprs(BinaryOp::kMul, x, NumberOf(x.dtype(), -1));
  if (name == "sign") return SignOf(x);
  if (name == "logical_not") {
    if (x.dtype().is_bool()) return MakeNot(x);
    return InvalidArgument("expected bool, got " + x.dtype().ToString());
  }
  return CallExpr(*FindOp(name), {x});
}

}  // namespace

std::span<const std::string_view> UnaryNames() { return kNames; }

StatusOr<Tensor> Unary(std::string_view name, const Tensor& x) {
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
    return OperatorError(name, "no operator of one operand has this name");
  const te::ComputeOptions options = name == "sign" ? Ax("T_sign", kElementwise, x.ndim()) : Plain();
  StatusOr<Tensor> result = Map(x, options, [&](const Expr& e) { return UnaryValue(name, e); });
  return result.ok() ? result : result.status().WithContext("topi." + std::string(name));
}

StatusOr<Tensor> Cast(const Tensor& x, DataType type) {
  return Map(x, Plain(), [&](const Expr& e) -> StatusOr<Expr> {
    if (e.dtype() == type) return e;
    return ConvertExpr(type, e);
  });
}

StatusOr<Tensor> Clip(const Tensor& x, const Expr& low, const Expr& high) {
  ASSIGN_OR_RETURN(const Expr a, ConvertExpr(x.dtype(), low));
  ASSIGN_OR_RETURN(const Expr b, ConvertExpr(x.dtype(), high));
  return Map(x, Plain(), [&](const Expr& e) -> StatusOr<Expr> { return Max(Min(e, b), a); });
}

StatusOr<Tensor> Full(const Shape& shape, DataType type, const Expr& value, const std::string& name) {
  StatusOr<Expr> element = ConvertExpr(type, value);
  if (!element.ok()) return element.status().WithContext("topi.full");
  return te::Compute(shape, [&](const Point&) { return *element; }, Ax(name, kElementwise, shape.size()));
}

StatusOr<Tensor> ElementwiseSum(const std::vector<Tensor>& xs) {
  if (xs.empty()) return OperatorError("elemwise_sum", "no tensor; give at least one");
  for (const Tensor& x : xs) {
    RETURN_IF_ERROR(CheckNdim("elemwise_sum", "tensor", x, xs[0].ndim()));
    if (x.dtype() != xs[0].dtype()) return OperatorError("elemwise_sum", "the tensors have different types");
    for (size_t i = 0; i < x.ndim(); ++i) {
      if (!MayEqual(x.shape()[i], xs[0].shape()[i]))
        return OperatorError("elemwise_sum", "the tensors have different shapes");
    }
  }
  const te::ComputeOptions options = Ax("T_elemwise_sum", kElementwise, xs[0].ndim());
  const auto [axis, point] = AxesOf(xs[0], options);
  Expr sum = xs[0](point);
  for (size_t i = 1; i < xs.size(); ++i) sum = sum + xs[i](point);
  ASSIGN_OR_RETURN(const te::Operation op, te::MakeCompute(axis, {sum}, options));
  return op->output(0);
}

StatusOr<Tensor> Relu(const Tensor& x) {
  return Map(x, Plain(), [](const Expr& e) -> StatusOr<Expr> { return Max(e, NumberOf(e.dtype(), 0)); });
}

StatusOr<Tensor> LeakyRelu(const Tensor& x, double alpha) {
  return Map(x, Plain(), [&](const Expr& e) -> StatusOr<Expr> {
    return MakeSelect(Less(NumberOf(e.dtype(), 0), e), e, e * NumberOf(e.dtype(), alpha));
  });
}

StatusOr<Tensor> Prelu(const Tensor& x, const Tensor& slope, int64_t axis) {
  ASSIGN_OR_RETURN(const int64_t dim, NormalizeAxis("nn.prelu", axis, static_cast<int64_t>(x.ndim())));
  RETURN_IF_ERROR(CheckNdim("nn.prelu", "slope", slope, 1));
  if (slope.dtype() != x.dtype() || !MayEqual(slope.shape()[0], x.shape()[static_cast<size_t>(dim)]))
    return OperatorError("nn.prelu", "slope has another type than x or not one element per index of the axis");
  return te::Compute(x.shape(),
                     [&](const Point& at) {
                       const Expr e = x(at);
                       return MakeSelect(Less(NumberOf(e.dtype(), 0), e), e, e * slope({at[static_cast<size_t>(dim)]}));
                     },
                     {.name = "compute", .tag = kElementwise});
}

}  // namespace lathe::topi
