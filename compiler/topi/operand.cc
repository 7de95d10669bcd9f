#include "compiler/topi/operand.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/ir/structural.h"
#include "support/status_macros.h"

namespace lathe::topi {

Status OperatorError(std::string_view op, const std::string& why) {
  return InvalidArgument("topi." + std::string(op) + ": " + why);
}

StatusOr<int64_t> NormalizeAxis(std::string_view op, int64_t axis, int64_t ndim) {
  if (axis >= -ndim && axis < ndim) return axis < 0 ? axis + ndim : axis;
  return OperatorError(op, "axis " + std::to_string(axis) + " is outside of the " + std::to_string(ndim) +
                               " dimensions; choose one from " + std::to_string(-ndim) + " to " +
                               std::to_string(ndim - 1));
}

StatusOr<std::vector<int64_t>> NormalizeAxes(std::string_view op, const std::vector<int64_t>& axes, int64_t ndim) {
  std::set<int64_t> chosen;
  for (const int64_t axis : axes) {
    ASSIGN_OR_RETURN(const int64_t normal, NormalizeAxis(op, axis, ndim));
    chosen.insert(normal);
  }
  return std::vector<int64_t>(chosen.begin(), chosen.end());
}

std::vector<int64_t> AllAxes(const Tensor& x) {
  std::vector<int64_t> axes(x.ndim());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Status CheckNdim(std::string_view op, const char* what, const Tensor& x, size_t ndim) {
  if (x.ndim() == ndim) return OkStatus();
  return OperatorError(op, std::string(what) + " \"" + x.name() + "\" has " + std::to_string(x.ndim()) +
                               " dimensions, expected " + std::to_string(ndim));
}

StatusOr<std::vector<int64_t>> ConstantExtents(std::string_view op, const Tensor& x) {
  std::optional<std::vector<int64_t>> extents = ConstantShape(x.shape());
  if (extents) return *std::move(extents);
  return OperatorError(op, "tensor \"" + x.name() + "\" has a symbolic extent where a number is needed");
}

bool MayEqual(const Expr& a, const Expr& b) {
  return AsIntConst(a) == nullptr || AsIntConst(b) == nullptr || *AsIntConst(a) == *AsIntConst(b);
}

DataType TypeOf(const Operand& x) {
  const Tensor* tensor = std::get_if<Tensor>(&x);
  return tensor != nullptr ? tensor->dtype() : std::get<Expr>(x).dtype();
}
Shape ShapeOf(const Operand& x) {
  const Tensor* tensor = std::get_if<Tensor>(&x);
  return tensor != nullptr ? tensor->shape() : Shape{};
}

Expr NumberOf(DataType type, double value) {
  return type.is_float() ? FloatConst(type, value) : IntConst(type, static_cast<int64_t>(value));
}

te::ComputeOptions Ax(std::string name, std::string tag, size_t ndim, AttrMap attrs) {
  te::ComputeOptions options{
      .name = std::move(name), .tag = std::move(tag), .attrs = std::move(attrs), .axis_names = {}, .layout_free = {}};
  for (size_t i = 0; i < ndim; ++i) options.axis_names.push_back("ax" + std::to_string(i));
  return options;
}

}  // namespace lathe::topi
