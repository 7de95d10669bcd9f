#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

std::vector<Tensor> WithDims(const Tensor& x, Dims dims) {
  Tensor y = x;
  y.dims = std::move(dims);
  return One(std::move(y));
}

// 0 copies the input's dimension (unless allowzero), -1 is inferred.
StatusOr<Dims> ResolveShape(const Dims& from, int64_t size, Dims shape, bool allow_zero) {
  const auto fail = [&] {
    return InvalidArgument(
        fmt::format("shape {} does not fit {} elements of {}", DimsText(shape), size, DimsText(from)));
  };
  std::optional<size_t> inferred;
  Dims known;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t dim = shape[i];
    if (dim == 0 && !allow_zero) {
      if (i >= from.size()) return fail();
      dim = from[i];
    }
    if (dim == -1) {
      if (inferred) return InvalidArgument(fmt::format("shape {}: -1 occurs twice", DimsText(shape)));
      inferred = i;
      dim = 1;
    }
    known.push_back(dim);
  }
  ASSIGN_OR_RETURN(const int64_t product, ElementCount(known));
  if (inferred) {
    if (product == 0 || size % product != 0) return fail();
    known[*inferred] = size / product;
  } else if (product != size) {
    return fail();
  }
  return known;
}

Outputs Scalar(double value) { return One(Tensor::Floats({}, {value})); }

}  // namespace

Outputs EvaluateIdentity(const Node& node) { return One(node.Input(0)); }

Outputs EvaluateReshape(const Node& node) {
  const Tensor& x = node.Input(0);
  if (node.opset() >= 5 && !node.HasInput(1)) return InvalidArgument("input shape is absent");
  ASSIGN_OR_RETURN(const Dims shape, node.IntsFromAttributeOrInput("shape", 1, 5));
  const bool allow_zero = node.opset() >= 14 && node.Int("allowzero", 0) != 0;
  ASSIGN_OR_RETURN(Dims dims, ResolveShape(x.dims, x.size(), shape, allow_zero));
  return WithDims(x, std::move(dims));
}

Outputs EvaluateFlatten(const Node& node) {
  const Tensor& x = node.Input(0);
  int64_t axis = node.Int("axis", 1);
  if (axis != x.rank()) {
    ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, x.rank()));
  }
  const std::span<const int64_t> dims = x.dims;
  return WithDims(x, {Product(dims.first(axis)), Product(dims.subspan(axis))});
}

Outputs EvaluateSqueeze(const Node& node) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(Dims axes, node.IntsFromAttributeOrInput("axes", 1, 13));
  const bool all_ones = axes.empty() && !(node.opset() >= 13 ? node.HasInput(1) : node.Has("axes"));
  for (int64_t a = 0; all_ones && a < x.rank(); ++a) {
    if (x.dims[a] == 1) axes.push_back(a);
  }
  ASSIGN_OR_RETURN(axes, NormalizeAxes(axes, x.rank()));
  Dims dims;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) {
      dims.push_back(x.dims[a]);
    } else if (x.dims[a] != 1) {
      return InvalidArgument(fmt::format("axis {} of {} has {} elements, 1 required", a, DimsText(x.dims), x.dims[a]));
    }
  }
  return WithDims(x, std::move(dims));
}

// Axes refer to the output's rank.
Outputs EvaluateUnsqueeze(const Node& node) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(Dims axes, node.IntsFromAttributeOrInput("axes", 1, 13));
  ASSIGN_OR_RETURN(axes, NormalizeAxes(axes, x.rank() + static_cast<int64_t>(axes.size())));
  std::sort(axes.begin(), axes.end());
  Dims dims = x.dims;
  for (int64_t a : axes) dims.insert(dims.begin() + a, 1);
  return WithDims(x, std::move(dims));
}

// start and end exist since opset 15, are clamped, and may count from the end.
Outputs EvaluateShape(const Node& node) {
  const Tensor& x = node.Input(0);
  const auto clamped = [&](std::string_view name, int64_t absent) {
    const int64_t at = node.opset() >= 15 ? node.Int(name, absent) : absent;
    return std::clamp<int64_t>(at < 0 ? at + x.rank() : at, 0, x.rank());
  };
  const int64_t start = clamped("start", 0), end = std::max(start, clamped("end", x.rank()));
  return One(Tensor::Ints({end - start}, Dims(x.dims.begin() + start, x.dims.begin() + end)));
}

Outputs EvaluateSize(const Node& node) { return One(Tensor::Ints({}, {node.Input(0).size()})); }

Outputs EvaluateConstant(const Node& node) {
  if (node.Has("value_float")) return Scalar(node.Float("value_float", 0));
  if (node.Has("value_int")) return One(Tensor::Ints({}, {node.Int("value_int", 0)}));
  if (node.Has("value_floats")) {
    std::vector<double> values = node.Floats("value_floats");
    const int64_t count = static_cast<int64_t>(values.size());
    return One(Tensor::Floats({count}, std::move(values)));
  }
  if (node.Has("value_ints")) {
    std::vector<int64_t> values = node.Ints("value_ints");
    const int64_t count = static_cast<int64_t>(values.size());
    return One(Tensor::Ints({count}, std::move(values)));
  }
  if (node.Has("value_string") || node.Has("value_strings")) return Unimplemented("string constants");
  ASSIGN_OR_RETURN(Tensor value,
                   node.Has("sparse_value") ? node.SparseTensorValue("sparse_value") : node.TensorValue("value"));
  return One(std::move(value));
}

// Float 0 unless `value` says otherwise; an empty shape gives a scalar.
Outputs EvaluateConstantOfShape(const Node& node) {
  RETURN_IF_ERROR(RequireInts(node.Input(0), "shape"));
  Tensor value = Tensor::Floats({1}, {0});
  if (node.Has("value")) {
    ASSIGN_OR_RETURN(value, node.TensorValue("value"));
  }
  if (value.size() != 1) return InvalidArgument(fmt::format("value is {}, one element required", TypeText(value)));
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(node.Input(0).ints));
  Tensor y{value.type, node.Input(0).ints, {}, {}};
  if (IsFloat(value.type)) {
    y.floats.assign(count, value.floats[0]);
  } else {
    y.ints.assign(count, value.ints[0]);
  }
  return One(std::move(y));
}

}  // namespace lathe::reference
