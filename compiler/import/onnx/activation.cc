// Operators of one tensor that work element by element.
#include <cmath>

#include "compiler/import/onnx/operators.h"
#include "compiler/relax/op.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;

NodeOutputs Unary(const OnnxNode& node, std::string_view op, AttrMap attrs = {}) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  return OneOutput(node.Emit(op, {x}, std::move(attrs)));
}

NodeOutputs Abs(const OnnxNode& node) { return Unary(node, "abs"); }
NodeOutputs Ceil(const OnnxNode& node) { return Unary(node, "ceil"); }
NodeOutputs Erf(const OnnxNode& node) { return Unary(node, "erf"); }
NodeOutputs Exp(const OnnxNode& node) { return Unary(node, "exp"); }
NodeOutputs Floor(const OnnxNode& node) { return Unary(node, "floor"); }
NodeOutputs Log(const OnnxNode& node) { return Unary(node, "log"); }
NodeOutputs Neg(const OnnxNode& node) { return Unary(node, "negative"); }
NodeOutputs Relu(const OnnxNode& node) { return Unary(node, "nn.relu"); }
NodeOutputs Sigmoid(const OnnxNode& node) { return Unary(node, "sigmoid"); }
NodeOutputs Sqrt(const OnnxNode& node) { return Unary(node, "sqrt"); }
NodeOutputs Tanh(const OnnxNode& node) { return Unary(node, "tanh"); }
NodeOutputs Gelu(const OnnxNode& node) {
  const std::string how = node.String("approximate", "none");
  if (how != "none" && how != "tanh") return node.Error("approximate is \"" + how + "\", none or tanh required");
  return Unary(node, how == "tanh" ? "nn.gelu_tanh" : "nn.gelu");
}
NodeOutputs HardSwish(const OnnxNode& node) { return Unary(node, "nn.hardswish"); }
NodeOutputs HardSigmoid(const OnnxNode& node) {
  return Unary(node, "nn.hard_sigmoid", {{"alpha", node.Float("alpha", 0.2)}, {"beta", node.Float("beta", 0.5)}});
}

// Bounds are attributes before opset 11, then inputs that may be absent or computed. min > max gives max.
NodeOutputs Clip(const OnnxNode& node) {
  if (node.opset() < 11)
    return Unary(node, "clip", {{"min", node.Float("min", -INFINITY)}, {"max", node.Float("max", INFINITY)}});
  ASSIGN_OR_RETURN(Expr x, node.Input(0));
  ASSIGN_OR_RETURN(const DataType type, node.DType(0));
  AttrMap attrs;
  bool is_constant = type.is_float();
  for (const size_t i : {1, 2}) {
    if (!node.HasInput(i)) continue;
    ASSIGN_OR_RETURN(const Expr bound, node.Input(i));
    const relax::TensorData* data = relax::AsConstant(bound);
    is_constant = is_constant && data != nullptr && data->num_elements() == 1;
    if (is_constant) attrs[i == 1 ? "min" : "max"] = data->ToDoubles()[0];
  }
  if (is_constant) return OneOutput(node.Emit("clip", {x}, std::move(attrs)));
  for (const size_t i : {1, 2}) {
    if (!node.HasInput(i)) continue;
    ASSIGN_OR_RETURN(const Expr bound, node.Input(i));
    ASSIGN_OR_RETURN(x, node.Emit(i == 1 ? "maximum" : "minimum", {x, bound}));
  }
  return OneOutput(x);
}

NodeOutputs Identity(const OnnxNode& node) { return OneOutput(node.Input(0)); }

NodeOutputs Dropout(const OnnxNode& node) {
  if (node.HasInput(2)) {
    ASSIGN_OR_RETURN(const std::vector<int64_t> training, [&]() -> StatusOr<std::vector<int64_t>> {
      ASSIGN_OR_RETURN(const relax::TensorData data, node.ConstantInput(2));
      return data.ToInts();
    }());
    if (!training.empty() && training[0] != 0)
      return node.Error("training_mode is true; export the model for inference");
  }
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  const Expr both = *relax::MakeCall("nn.dropout", {x});
  const relax::Var tuple = node.graph().builder().Emit(both);
  std::vector<Expr> outputs = {node.graph().builder().Emit(relax::MakeTupleGetItem(tuple, 0))};
  if (node.WantsOutput(1)) {
    const Expr mask = node.graph().builder().Emit(relax::MakeTupleGetItem(tuple, 1));
    const auto* info = mask.struct_info().As<relax::TensorStructInfo>();
    ASSIGN_OR_RETURN(const DataType type, node.DType(0));
    const DataType wanted = node.opset() >= 10 ? DataType::Bool() : type;  // Bool since opset 10.
    outputs.push_back(mask);
    if (info->dtype != wanted) {
      ASSIGN_OR_RETURN(outputs.back(), node.Emit("astype", {mask}, {{"dtype", wanted.ToString()}}));
    }
  }
  return outputs;
}

constexpr OnnxOperator kActivationRows[] = {
    {"Abs", Abs},
    {"Ceil", Ceil},
    {"Clip", Clip},
    {"Dropout", Dropout},
    {"Erf", Erf},
    {"Exp", Exp},
    {"Floor", Floor},
    {"Gelu", Gelu},
    {"HardSigmoid", HardSigmoid},
    {"HardSwish", HardSwish},
    {"Identity", Identity},
    {"Log", Log},
    {"Neg", Neg},
    {"Relu", Relu},
    {"Sigmoid", Sigmoid},
    {"Sqrt", Sqrt},
    {"Tanh", Tanh},
};

}  // namespace

std::span<const OnnxOperator> OnnxActivations() { return kActivationRows; }

}  // namespace lathe
