#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "support/status_macros.h"
#include "tests/reference/operators.h"

namespace lathe::reference {
namespace {

template <typename Function>
Outputs MapFloats(const Node& node, Function function) {
  Tensor y = node.Input(0);
  RETURN_IF_ERROR(RequireFloats(y, "x"));
  for (double& v : y.floats) v = function(v);
  return One(std::move(y));
}

// Floats by one function, integers (wrapped afterwards) by the other.
template <typename OnFloat, typename OnInt>
Outputs MapNumbers(const Node& node, OnFloat on_float, OnInt on_int) {
  Tensor y = node.Input(0);
  for (double& v : y.floats) v = on_float(v);
  for (int64_t& v : y.ints) v = WrapInt(on_int(v), y.type);
  return One(std::move(y));
}

struct Bound {
  double as_float;
  int64_t as_int;
};

// A bound of Clip: attribute before opset 11, then an optional scalar input.
StatusOr<std::optional<Bound>> ClipBound(const Node& node, std::string_view name, size_t input) {
  const Tensor& x = node.Input(0);
  if (node.opset() < 11) {
    if (!node.Has(name)) return std::optional<Bound>();
    return std::optional<Bound>(Bound{node.Float(name, 0), 0});
  }
  if (!node.HasInput(input)) return std::optional<Bound>();
  const Tensor& bound = node.Input(input);
  if (bound.size() != 1 || bound.type != x.type) {
    return InvalidArgument(fmt::format("{} is {}, one {} required", name, TypeText(bound), DataTypeName(x.type)));
  }
  return std::optional<Bound>(IsFloat(x.type) ? Bound{bound.floats[0], 0} : Bound{0, bound.ints[0]});
}

double ClampUnit(double v) { return std::isnan(v) ? v : std::clamp(v, 0.0, 1.0); }

// Toward zero; out of range saturates, NaN is 0, so that the result is the same everywhere.
int64_t FloatToInt(double v, DataType type) {
  if (type == DataType::kBool) return v != 0;
  if (std::isnan(v)) return 0;
  if (type == DataType::kUint64 && v >= 0x1p63)
    return v >= 0x1p64 ? -1 : static_cast<int64_t>(static_cast<uint64_t>(v));
  if (v >= 0x1p63) return std::numeric_limits<int64_t>::max();
  if (v < -0x1p63) return std::numeric_limits<int64_t>::min();
  return WrapInt(static_cast<int64_t>(v), type);
}

}  // namespace

Outputs EvaluateRelu(const Node& node) {
  return MapNumbers(node, [](double v) { return v < 0 ? 0 : v; }, [](int64_t v) { return std::max<int64_t>(v, 0); });
}
Outputs EvaluateSigmoid(const Node& node) {
  return MapFloats(node, [](double v) { return 1 / (1 + std::exp(-v)); });
}
Outputs EvaluateTanh(const Node& node) {
  return MapFloats(node, [](double v) { return std::tanh(v); });
}
Outputs EvaluateExp(const Node& node) {
  return MapFloats(node, [](double v) { return std::exp(v); });
}
Outputs EvaluateLog(const Node& node) {
  return MapFloats(node, [](double v) { return std::log(v); });
}
Outputs EvaluateSqrt(const Node& node) {
  return MapFloats(node, [](double v) { return std::sqrt(v); });
}
Outputs EvaluateErf(const Node& node) {
  return MapFloats(node, [](double v) { return std::erf(v); });
}

Outputs EvaluateGelu(const Node& node) {
  if (node.String("approximate", "none") == "tanh")
    return MapFloats(
        node, [](double v) { return v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); });
  return MapFloats(node, [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2))); });
}

Outputs EvaluateNeg(const Node& node) {
  return MapNumbers(
      node, [](double v) { return -v; }, [](int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); });
}

Outputs EvaluateAbs(const Node& node) {
  const bool has_sign = !IsUnsigned(node.Input(0).type);
  return MapNumbers(
      node, [](double v) { return std::fabs(v); },
      [=](int64_t v) { return has_sign && v < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(v)) : v; });
}

Outputs EvaluateHardSigmoid(const Node& node) {
  const double alpha = node.Float("alpha", 0.2), beta = node.Float("beta", 0.5);
  return MapFloats(node, [=](double v) { return ClampUnit(alpha * v + beta); });
}

Outputs EvaluateHardSwish(const Node& node) {
  return MapFloats(node, [](double v) { return v * ClampUnit(v / 6 + 0.5); });
}

Outputs EvaluateClip(const Node& node) {
  ASSIGN_OR_RETURN(const std::optional<Bound> low, ClipBound(node, "min", 1));
  ASSIGN_OR_RETURN(const std::optional<Bound> high, ClipBound(node, "max", 2));
  Tensor y = node.Input(0);
  if (node.opset() < 12) RETURN_IF_ERROR(RequireFloats(y, "x"));
  for (double& v : y.floats) {  // High last: where min > max, max wins.
    if (low && v < low->as_float) v = low->as_float;
    if (high && v > high->as_float) v = high->as_float;
  }
  for (int64_t& v : y.ints) {
    if (low && IntLess(v, low->as_int, y.type)) v = low->as_int;
    if (high && IntLess(high->as_int, v, y.type)) v = high->as_int;
  }
  return One(std::move(y));
}

Outputs EvaluateCast(const Node& node) {
  const Tensor& x = node.Input(0);
  ASSIGN_OR_RETURN(const DataType type, DataTypeFromOnnx(static_cast<int>(node.Int("to", 0))));
  Tensor y{type, x.dims, {}, {}};
  if (IsFloat(type)) {
    y.floats = AsDoubles(x);
  } else if (IsFloat(x.type)) {
    for (double v : x.floats) y.ints.push_back(FloatToInt(v, type));
  } else {
    for (int64_t v : x.ints) y.ints.push_back(WrapInt(v, type));
  }
  return One(std::move(y));
}

}  // namespace lathe::reference
