#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

struct BinaryKernel {
  double (*on_floats)(double, double);
  int64_t (*on_ints)(int64_t, int64_t, DataType);  // Wrapped to the type by the caller.
};

int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

int64_t DivideInts(int64_t a, int64_t b, DataType type) {  // Truncates toward zero; b != 0.
  if (type == DataType::kUint64) return Wrapped(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? Wrapped(-static_cast<uint64_t>(a)) : a / b;
}

constexpr BinaryKernel kAdd = {
    [](double a, double b) { return a + b; },
    [](int64_t a, int64_t b, DataType) { return Wrapped(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }};
constexpr BinaryKernel kSub = {
    [](double a, double b) { return a - b; },
    [](int64_t a, int64_t b, DataType) { return Wrapped(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }};
constexpr BinaryKernel kMul = {
    [](double a, double b) { return a * b; },
    [](int64_t a, int64_t b, DataType) { return Wrapped(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }};
constexpr BinaryKernel kDiv = {[](double a, double b) { return a / b; }, DivideInts};
constexpr BinaryKernel kMin = {[](double a, double b) { return std::isnan(a) || a < b ? a : b; },  // NaN wins.
                               [](int64_t a, int64_t b, DataType type) { return IntLess(b, a, type) ? b : a; }};
constexpr BinaryKernel kMax = {[](double a, double b) { return std::isnan(a) || a > b ? a : b; },
                               [](int64_t a, int64_t b, DataType type) { return IntLess(a, b, type) ? b : a; }};

Outputs MapBinary(const Tensor& a, const Tensor& b, const BinaryKernel& kernel) {
  if (a.type != b.type)
    return InvalidArgument(fmt::format("operands are {} and {}; one type required", TypeText(a), TypeText(b)));
  ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(a.dims, b.dims));
  const std::vector<int64_t> at_a = BroadcastOffsets(a.dims, dims), at_b = BroadcastOffsets(b.dims, dims);
  Tensor y = Tensor::Zeros(dims, a.type);
  for (size_t i = 0; i < y.floats.size(); ++i) y.floats[i] = kernel.on_floats(a.floats[at_a[i]], b.floats[at_b[i]]);
  for (size_t i = 0; i < y.ints.size(); ++i)
    y.ints[i] = WrapInt(kernel.on_ints(a.ints[at_a[i]], b.ints[at_b[i]], a.type), a.type);
  return One(std::move(y));
}

// Before opset 7 operands have one shape unless broadcast = 1: then b's shape is a run of a's axes from `axis`, by
// default the last ones. Missing trailing axes become 1, which turns the old rule into the new one.
StatusOr<Tensor> OldBroadcast(const Node& node, const Tensor& a, Tensor b) {
  if (node.Int("broadcast", 0) == 0) {
    if (a.dims == b.dims) return b;
    return InvalidArgument(fmt::format("operands are {} and {} without broadcast = 1", TypeText(a), TypeText(b)));
  }
  const int64_t axis = node.Has("axis") ? node.Int("axis", 0) : a.rank() - b.rank();
  if (axis < 0 || axis + b.rank() > a.rank()) {
    return InvalidArgument(
        fmt::format("operands are {} and {}: b does not fit at axis {}", TypeText(a), TypeText(b), axis));
  }
  b.dims.resize(a.rank() - axis, 1);
  const StatusOr<Dims> common = BroadcastDims(a.dims, b.dims);
  if (!common.ok() || *common != a.dims) {
    return InvalidArgument(fmt::format("operands are {} and {}: b does not broadcast to a", TypeText(a), TypeText(b)));
  }
  return b;
}

Outputs Binary(const Node& node, const BinaryKernel& kernel) {
  const Tensor& a = node.Input(0);
  if (node.opset() >= 7) return MapBinary(a, node.Input(1), kernel);
  ASSIGN_OR_RETURN(const Tensor b, OldBroadcast(node, a, node.Input(1)));
  return MapBinary(a, b, kernel);
}

// Folds all inputs from the left. Broadcasting exists since opset 8.
StatusOr<Tensor> Fold(const Node& node, const BinaryKernel& kernel) {
  Tensor folded = node.Input(0);
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    if (!node.HasInput(i)) return InvalidArgument(fmt::format("input {} is absent", i));
    if (node.opset() < 8 && node.Input(i).dims != folded.dims) {
      return InvalidArgument(fmt::format("operands are {} and {}: one shape required before opset 8", TypeText(folded),
                                         TypeText(node.Input(i))));
    }
    ASSIGN_OR_RETURN(std::vector<Tensor> next, MapBinary(folded, node.Input(i), kernel));
    folded = std::move(next[0]);
  }
  return folded;
}

Outputs Variadic(const Node& node, const BinaryKernel& kernel) {
  ASSIGN_OR_RETURN(Tensor folded, Fold(node, kernel));
  return One(std::move(folded));
}

int64_t PowerOfInts(int64_t base, int64_t exponent) {  // exponent >= 0; wraps.
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1, square *= square) {
    if (exponent & 1) result *= square;
  }
  return Wrapped(result);
}

}  // namespace

Outputs EvaluateAdd(const Node& node) { return Binary(node, kAdd); }
Outputs EvaluateSub(const Node& node) { return Binary(node, kSub); }
Outputs EvaluateMul(const Node& node) { return Binary(node, kMul); }

Outputs EvaluateDiv(const Node& node) {
  const std::vector<int64_t>& divisors = node.Input(1).ints;
  if (std::find(divisors.begin(), divisors.end(), 0) != divisors.end())
    return InvalidArgument("integer division by zero");
  return Binary(node, kDiv);
}

// The result has the base's type; base and exponent may differ in type since opset 12.
Outputs EvaluatePow(const Node& node) {
  const Tensor& a = node.Input(0);
  Tensor b = node.Input(1);
  if (node.opset() < 7) {
    ASSIGN_OR_RETURN(b, OldBroadcast(node, a, std::move(b)));
  }
  ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(a.dims, b.dims));
  const std::vector<int64_t> at_a = BroadcastOffsets(a.dims, dims), at_b = BroadcastOffsets(b.dims, dims);
  const std::vector<double> base = AsDoubles(a), exponent = AsDoubles(b);
  Tensor y = Tensor::Zeros(dims, a.type);
  for (size_t i = 0; i < y.floats.size(); ++i) y.floats[i] = std::pow(base[at_a[i]], exponent[at_b[i]]);
  for (size_t i = 0; i < y.ints.size(); ++i) {
    if (!IsFloat(b.type) && !IntLess(b.ints[at_b[i]], 0, b.type) && b.ints[at_b[i]] >= 0) {
      y.ints[i] = WrapInt(PowerOfInts(a.ints[at_a[i]], b.ints[at_b[i]]), a.type);
      continue;
    }
    const double power = std::trunc(std::pow(base[at_a[i]], exponent[at_b[i]]));
    y.ints[i] = WrapInt(std::fabs(power) < 0x1p63 ? static_cast<int64_t>(power) : 0, a.type);
  }
  return One(std::move(y));
}

Outputs EvaluateSum(const Node& node) { return Variadic(node, kAdd); }
Outputs EvaluateMin(const Node& node) { return Variadic(node, kMin); }
Outputs EvaluateMax(const Node& node) { return Variadic(node, kMax); }

Outputs EvaluateMean(const Node& node) {
  RETURN_IF_ERROR(RequireFloats(node.Input(0), "input 0"));
  ASSIGN_OR_RETURN(Tensor sum, Fold(node, kAdd));
  for (double& v : sum.floats) v /= static_cast<double>(node.num_inputs());
  return One(std::move(sum));
}

}  // namespace lathe::reference
