#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

struct Reduction {
  Dims dims;                    // Of the output.
  std::vector<int64_t> target;  // Per input element: the output element it goes into.
  bool nothing = false;         // noop_with_empty_axes: the input as it is.
};

StatusOr<Reduction> DescribeReduction(const Node& node, int64_t axes_are_input_since) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.IntsFromAttributeOrInput("axes", 1, axes_are_input_since));
  Reduction r;
  if (axes.empty()) {
    r.nothing = node.opset() >= axes_are_input_since && node.Int("noop_with_empty_axes", 0) != 0;
    for (int64_t a = 0; a < x.rank(); ++a) axes.push_back(a);
  }
  ASSIGN_OR_RETURN(axes, NormalizeAxes(axes, x.rank()));
  std::vector<bool> reduced(x.rank());
  for (int64_t a : axes) reduced[a] = true;
  Dims kept = x.dims;
  for (int64_t a : axes) kept[a] = 1;
  const Dims strides = Strides(kept);
  AxisOffsets parts(x.rank());
  const bool keep = node.Int("keepdims", 1) != 0;
  for (int64_t a = 0; a < x.rank(); ++a) {
    for (int64_t i = 0; i < x.dims[a]; ++i) parts[a].push_back(reduced[a] ? 0 : i * strides[a]);
    if (keep || !reduced[a]) r.dims.push_back(kept[a]);
  }
  r.target = OuterSum(parts);
  return r;
}

template <typename OnFloat, typename OnInt>
Outputs Reduce(const Node& node, int64_t axes_are_input_since, Fill start, OnFloat on_float, OnInt on_int) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(const Reduction r, DescribeReduction(node, axes_are_input_since));
  if (r.nothing) return One(x);
  Tensor y = Tensor::Zeros(r.dims, x.type);
  for (double& v : y.floats) v = start.float_value;
  for (int64_t& v : y.ints) v = start.int_value;
  for (size_t i = 0; i < x.floats.size(); ++i) y.floats[r.target[i]] = on_float(y.floats[r.target[i]], x.floats[i]);
  for (size_t i = 0; i < x.ints.size(); ++i) y.ints[r.target[i]] = on_int(y.ints[r.target[i]], x.ints[i]);
  for (int64_t& v : y.ints) v = WrapInt(v, y.type);
  return One(std::move(y));
}

Outputs Sum(const Node& node, int64_t axes_are_input_since) {
  return Reduce(
      node, axes_are_input_since, {}, [](double a, double b) { return a + b; },
      [](int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); });
}

}  // namespace

Outputs EvaluateReduceSum(const Node& node) { return Sum(node, 13); }

Outputs EvaluateReduceMean(const Node& node) {
  RETURN_IF_ERROR(RequireFloats(node.Input(0), "x"));
  ASSIGN_OR_RETURN(std::vector<Tensor> sum, Sum(node, 18));
  const double count = static_cast<double>(node.Input(0).size()) / static_cast<double>(sum[0].size());
  for (double& v : sum[0].floats) v /= count;
  return sum;
}

Outputs EvaluateReduceMax(const Node& node) {
  const DataType type = node.Input(0).type;
  const int64_t least = IsUnsigned(type) || type == DataType::kBool ? 0 : std::numeric_limits<int64_t>::min();
  if (node.Input(0).size() == 0 && !IsFloat(type)) return InvalidArgument("maximum of no integers");
  return Reduce(
      node, 18, {-std::numeric_limits<double>::infinity(), least},
      [](double a, double b) { return std::isnan(a) || a > b ? a : b; },
      [=](int64_t a, int64_t b) { return IntLess(a, b, type) ? b : a; });
}

Outputs EvaluateReduceMin(const Node& node) {
  const DataType type = node.Input(0).type;
  const int64_t greatest = type == DataType::kUint64 ? -1 : std::numeric_limits<int64_t>::max();
  if (node.Input(0).size() == 0 && !IsFloat(type)) return InvalidArgument("minimum of no integers");
  return Reduce(
      node, 18, {std::numeric_limits<double>::infinity(), greatest},
      [](double a, double b) { return std::isnan(a) || a < b ? a : b; },
      [=](int64_t a, int64_t b) { return IntLess(b, a, type) ? b : a; });
}

}  // namespace lathe::reference
