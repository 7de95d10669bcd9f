// Constants and what shape arithmetic starts from; all of it is gone after the import.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;
using relax::TensorData;

NodeOutputs Constant(const OnnxNode& node) {
  const auto ints = [](const std::vector<int64_t>& values) {
    return OneOutput(relax::MakeConstant(TensorData::FromInts(values)));
  };
  const auto floats = [](std::vector<int64_t> shape, const std::vector<double>& values) {
    return OneOutput(relax::MakeConstant(
        TensorData::From(DataType::Float(32), std::move(shape), std::vector<float>(values.begin(), values.end()))));
  };
  if (node.Has("value")) {
    ASSIGN_OR_RETURN(TensorData data, node.TensorAttr("value"));
    return OneOutput(relax::MakeConstant(std::move(data)));
  }
  if (node.Has("value_float")) return floats({}, {node.Float("value_float", 0)});
  if (node.Has("value_int"))
    return OneOutput(relax::MakeConstant(TensorData::FromInts({node.Int("value_int", 0)}).Reshaped({})));
  if (node.Has("value_ints")) return ints(node.Ints("value_ints"));
  if (node.Has("value_floats")) {
    const std::vector<double> values = node.Floats("value_floats");
    return floats({static_cast<int64_t>(values.size())}, values);
  }
  return node.Error("no value; value, value_float(s) and value_int(s) are supported");
}

NodeOutputs ConstantOfShape(const OnnxNode& node) {
  ASSIGN_OR_RETURN(std::vector<int64_t> shape, node.ConstantInts(0));
  const float zero = 0;
  TensorData value = TensorData::From(DataType::Float(32), {1}, std::vector<float>{zero});
  if (node.Has("value")) {
    ASSIGN_OR_RETURN(value, node.TensorAttr("value"));
  }
  if (value.num_elements() != 1)
    return node.Error(fmt::format("value has {} elements, 1 required", value.num_elements()));
  const std::optional<int64_t> count = relax::ElementCount(shape);
  if (!count || shape.size() > 16 || *count > INT32_MAX)
    return node.Error(fmt::format("shape [{}] is negative or too large", fmt::join(shape, ", ")));
  if (Status status = node.graph().Reserve(*count * value.dtype().bytes()); !status.ok())
    return status.WithContext(node.Error("").message());
  return OneOutput(relax::MakeConstant(TensorData::Filled(value.dtype(), std::move(shape), value.bytes())));
}

// `start` and `end` since opset 15, negative ones from the end, clamped.
NodeOutputs Shape(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamp(node.Int("start", 0)), end = clamp(node.Int("end", rank));
  if (start >= end) return OneOutput(relax::MakeConstant(TensorData::FromInts({})));
  return OneOutput(relax::MakeConstant(TensorData::FromInts({shape.begin() + start, shape.begin() + end})));
}

NodeOutputs Size(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> shape, node.Shape(0));
  return OneOutput(relax::MakeConstant(TensorData::FromInts({relax::ElementCount(shape).value_or(0)}).Reshaped({})));
}

NodeOutputs Cast(const OnnxNode& node) {
  ASSIGN_OR_RETURN(const Expr x, node.Input(0));
  if (node.opset() < 6) return node.Error("opset below 6, where the type is a text, is not supported");
  const StatusOr<DataType> type = DataTypeFromOnnx(static_cast<int>(node.Int("to", 0)));
  if (!type.ok()) return node.Error(type.status().message());
  ASSIGN_OR_RETURN(const DataType from, node.DType(0));
  if (*type == from) return OneOutput(x);
  return OneOutput(node.Emit("astype", {x}, {{"dtype", type->ToString()}}));
}

constexpr OnnxOperator kShapeRows[] = {
    {"Cast", Cast}, {"Constant", Constant}, {"ConstantOfShape", ConstantOfShape}, {"Shape", Shape}, {"Size", Size}};

}  // namespace

std::span<const OnnxOperator> OnnxShapeOperators() { return kShapeRows; }

}  // namespace lathe
