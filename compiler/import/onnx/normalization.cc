// BatchNormalization, LayerNormalization, LRN and the softmax family.
#include <fmt/format.h>

#include "compiler/import/onnx/operators.h"
#include "compiler/relax/op.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;

NodeOutputs BatchNormalization(const OnnxNode& node) {
  if (node.Int("training_mode", 0) != 0) return node.Error("training_mode is 1; export the model for inference");
  for (size_t i = 1; i < 5; ++i) {
    if (node.WantsOutput(i)) return node.Error("it has the outputs of training; export the model for inference");
  }
  if (node.opset() < 9 && node.Int("spatial", 1) == 0) return node.Error("spatial=0 is not supported");
  std::vector<Expr> args;
  for (size_t i = 0; i < 5; ++i) {
    ASSIGN_OR_RETURN(const Expr arg, node.Input(i));
    args.push_back(arg);
  }
  ASSIGN_OR_RETURN(const Expr call,
                   relax::MakeCall("nn.batch_norm", args, {{"axis", 1}, {"epsilon", node.Float("epsilon", 1e-5)}}));
  const relax::Var tuple = node.graph().builder().Emit(call);
  return OneOutput(Expr(node.graph().builder().Emit(relax::MakeTupleGetItem(tuple, 0))));
}

// Scale and bias as tensors of the normalized axes' extents, which ONNX lets broadcast.
NodeOutputs LayerNormalization(const OnnxNode& node) {
  if (node.WantsOutput(1) || node.WantsOutput(2))
    return node.Error("it has the outputs of training; export the model for inference");
  if (node.Int("stash_type", 1) != 1) return node.Error("stash_type is not 1, float32");
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  ASSIGN_OR_RETURN(const DataType type, node.DType(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t given = node.Int("axis", -1), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", given, rank));
  const std::vector<int64_t> normalized(shape.begin() + axis, shape.end());
  std::vector<Attr> axes;
  for (int64_t i = axis; i < rank; ++i) axes.push_back(i);
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  const std::vector<std::byte> zero(static_cast<size_t>(type.bytes()));
  const Expr zeros = relax::MakeConstant(relax::TensorData::Filled(type, normalized, zero));
  std::vector<Expr> args = {x};
  for (const size_t i : {1, 2}) {
    args.push_back(zeros);
    if (!node.HasInput(i)) continue;
    ASSIGN_OR_RETURN(const std::vector<int64_t> own, node.Shape(i));
    ASSIGN_OR_RETURN(args.back(), node.Input(i));
    if (own == normalized) continue;
    ASSIGN_OR_RETURN(args.back(), node.Emit("add", {zeros, args.back()}));
  }
  AttrMap attrs = {{"axes", std::move(axes)}, {"epsilon", node.Float("epsilon", 1e-5)}};
  return OneOutput(node.Emit("nn.layer_norm", args, std::move(attrs)));
}

NodeOutputs Lrn(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  AttrMap attrs = {{"size", node.Int("size", 0)},
                   {"alpha", node.Float("alpha", 1e-4)},
                   {"beta", node.Float("beta", 0.75)},
                   {"bias", node.Float("bias", 1)}};
  return OneOutput(node.Emit("nn.lrn", {x}, std::move(attrs)));
}

// Before opset 13 the tensor counts as [product before axis, product from axis on]; since then the axis alone is
// normalised.
NodeOutputs SoftmaxLike(const OnnxNode& node, std::string_view op) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  if (node.opset() >= 13) return OneOutput(node.Emit(op, {x}, {{"axis", node.Int("axis", -1)}}));
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = node.Int("axis", 1) < 0 ? node.Int("axis", 1) + rank : node.Int("axis", 1);
  if (axis < 0 || axis > rank) return node.Error(fmt::format("axis {} of a tensor with {} dimensions", axis, rank));
  std::vector<int64_t> flat = {1, 1};
  for (int64_t i = 0; i < rank; ++i) flat[i < axis ? 0 : 1] *= shape[i];
  ASSIGN_OR_RETURN(const Expr matrix, node.Reshape(x, flat));
  ASSIGN_OR_RETURN(const Expr out, node.Emit(op, {matrix}, {{"axis", 1}}));
  return OneOutput(node.Reshape(out, shape));
}
NodeOutputs Softmax(const OnnxNode& node) { return SoftmaxLike(node, "nn.softmax"); }
NodeOutputs LogSoftmax(const OnnxNode& node) { return SoftmaxLike(node, "nn.log_softmax"); }
NodeOutputs Hardmax(const OnnxNode& node) { return SoftmaxLike(node, "nn.hardmax"); }

constexpr OnnxOperator kNormalizationRows[] = {
    {"BatchNormalization", BatchNormalization}, {"Hardmax", Hardmax},       {"LRN", Lrn},
    {"LayerNormalization", LayerNormalization}, {"LogSoftmax", LogSoftmax}, {"Softmax", Softmax},
};

}  // namespace

std::span<const OnnxOperator> OnnxNormalizations() { return kNormalizationRows; }

}  // namespace lathe
