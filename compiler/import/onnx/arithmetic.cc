// Arithmetic of two or more tensors, and reductions.
#include <fmt/format.h>

#include "compiler/import/onnx/operators.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;

// Before opset 7: `broadcast` lines b up with a's dimensions from `axis` on.
StatusOr<Expr> LegacyBroadcast(const OnnxNode& node, const Expr& b) {
  if (node.opset() >= 7 || node.Int("broadcast", 0) == 0 || !node.Has("axis")) return b;
  ASSIGN_OR_RETURN(const std::vector<int64_t> a_shape, node.Shape(0));
  ASSIGN_OR_RETURN(std::vector<int64_t> b_shape, node.Shape(1));
  const auto rank = static_cast<int64_t>(a_shape.size()), b_rank = static_cast<int64_t>(b_shape.size());
  const int64_t axis = node.Int("axis", 0) < 0 ? node.Int("axis", 0) + rank : node.Int("axis", 0);
  if (axis < 0 || axis + b_rank > rank)
    return node.Error(fmt::format("axis {} with {} and {} dimensions", axis, rank, b_rank));
  b_shape.resize(static_cast<size_t>(rank - axis), 1);
  return node.Reshape(b, b_shape);
}

NodeOutputs Binary(const OnnxNode& node, std::string_view op) {
  ASSIGN_OR_RETURN(const Expr a, node.Input(0));
  ASSIGN_OR_RETURN(Expr b, node.Input(1));
  ASSIGN_OR_RETURN(b, LegacyBroadcast(node, b));
  return OneOutput(node.Emit(op, {a, b}));
}
NodeOutputs Add(const OnnxNode& node) { return Binary(node, "add"); }
NodeOutputs Div(const OnnxNode& node) {
  if (node.HasInput(1)) {
    const relax::TensorData* divisor = relax::AsConstant(*node.Input(1));
    if (divisor != nullptr && divisor->dtype().is_int()) {
      for (const int64_t value : divisor->ToInts()) {
        if (value == 0) return node.Error("integer division by zero");
      }
    }
  }
  return Binary(node, "divide");
}
NodeOutputs Mul(const OnnxNode& node) { return Binary(node, "multiply"); }
NodeOutputs Sub(const OnnxNode& node) { return Binary(node, "subtract"); }

// The exponent may be of another type; the result has the base's.
NodeOutputs Pow(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr base, node.Input(0));
  ASSIGN_OR_RETURN(Expr exponent, node.Input(1));
  ASSIGN_OR_RETURN(exponent, LegacyBroadcast(node, exponent));
  ASSIGN_OR_RETURN(const DataType type, node.DType(0));
  ASSIGN_OR_RETURN(const DataType given, node.DType(1));
  const bool is_fraction_of_int = type.is_int() && given.is_float();
  if (given != type && !is_fraction_of_int) {
    ASSIGN_OR_RETURN(exponent, node.Emit("astype", {exponent}, {{"dtype", type.ToString()}}));
  }
  return OneOutput(node.Emit("power", {base, exponent}));
}

StatusOr<Expr> Chain(const OnnxNode& node, std::string_view op) {
  ASSIGN_OR_RETURN(Expr total, node.Input(0));
  for (size_t i = 1; i < node.num_inputs(); ++i) {
    ASSIGN_OR_RETURN(const Expr next, node.Input(i));
    ASSIGN_OR_RETURN(total, node.Emit(op, {total, next}));
  }
  return total;
}
NodeOutputs Sum(const OnnxNode& node) { return OneOutput(Chain(node, "add")); }
NodeOutputs Max(const OnnxNode& node) { return OneOutput(Chain(node, "maximum")); }
NodeOutputs Min(const OnnxNode& node) { return OneOutput(Chain(node, "minimum")); }
NodeOutputs Mean(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr total, Chain(node, "add"));
  ASSIGN_OR_RETURN(const DataType type, node.DType(0));
  return OneOutput(node.Emit("divide", {total, relax::MakeScalar(type, static_cast<double>(node.num_inputs()))}));
}

NodeOutputs Reduce(const OnnxNode& node, std::string_view op, int64_t input_since) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, node.IntsAttrOrInput("axes", 1, input_since));
  const bool has_axes = axes.has_value() && !axes->empty();
  AttrMap attrs = {{"keepdims", node.Int("keepdims", 1) != 0}};
  const bool is_noop = node.opset() >= input_since && node.Int("noop_with_empty_axes", 0) != 0;
  if (!has_axes && is_noop) return OneOutput(x);
  if (has_axes) attrs["axis"] = relax::MakeIntsAttr(*axes);
  return OneOutput(node.Emit(op, {x}, std::move(attrs)));
}
NodeOutputs ReduceMean(const OnnxNode& node) { return Reduce(node, "mean", 18); }
NodeOutputs ReduceMax(const OnnxNode& node) { return Reduce(node, "max", 18); }
NodeOutputs ReduceMin(const OnnxNode& node) { return Reduce(node, "min", 18); }
NodeOutputs ReduceSum(const OnnxNode& node) { return Reduce(node, "sum", 13); }

constexpr OnnxOperator kArithmeticRows[] = {
    {"Add", Add},
    {"Div", Div},
    {"Max", Max},
    {"Mean", Mean},
    {"Min", Min},
    {"Mul", Mul},
    {"Pow", Pow},
    {"ReduceMax", ReduceMax},
    {"ReduceMean", ReduceMean},
    {"ReduceMin", ReduceMin},
    {"ReduceSum", ReduceSum},
    {"Sub", Sub},
    {"Sum", Sum},
};

}  // namespace

std::span<const OnnxOperator> OnnxArithmetic() { return kArithmeticRows; }

}  // namespace lathe
