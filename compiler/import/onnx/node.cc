#include "compiler/import/onnx/node.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/relax/op.h"
#include "support/status_macros.h"

namespace lathe {

Status GraphBuilder::Reserve(int64_t bytes) {
  if (bytes > budget_.max_bytes) {
    return ResourceExhausted(fmt::format(
        "constant of {} bytes, {} left of what the model's constants may take; raise the limit if the model is trusted",
        bytes, budget_.max_bytes));
  }
  budget_.max_bytes -= bytes;
  return OkStatus();
}

namespace {

// As what computes extents, axes and bounds does.
bool IsSmall(const relax::Expr& e) {
  constexpr int64_t kMostElements = 1024;
  const std::optional<std::vector<int64_t>> shape = relax::ConstantShapeOf(e.struct_info());
  return shape && relax::ElementCount(*shape).value_or(kMostElements + 1) <= kMostElements;
}

}  // namespace

StatusOr<relax::Expr> GraphBuilder::Emit(std::string_view op, std::vector<relax::Expr> args, AttrMap attrs,
                                         const std::string& name) {
  ASSIGN_OR_RETURN(const relax::Expr value, relax::MakeCall(op, std::move(args), std::move(attrs)));
  const relax::Call& call = *value.As<relax::Call>();
  const std::vector<relax::Expr> tensors = relax::TensorArgs(call);
  const bool is_shape_arithmetic = IsSmall(value) && std::all_of(tensors.begin(), tensors.end(), IsSmall);
  int64_t& steps = is_shape_arithmetic ? shape_steps_ : budget_.steps_left;
  relax::EvaluationBudget budget{budget_.max_bytes, steps};
  ASSIGN_OR_RETURN(std::optional<relax::TensorData> data, relax::EvaluateCall(call, value.struct_info(), budget));
  steps = budget.steps_left;
  if (!data) return builder_.Emit(value, name);
  if (!relax::IsView(call)) RETURN_IF_ERROR(Reserve(static_cast<int64_t>(data->bytes().size())));
  return relax::MakeConstant(*std::move(data));
}

std::string NodeName(const onnx::NodeProto& proto) {
  if (!proto.name().empty()) return proto.name();
  return proto.output_size() > 0 ? proto.output(0) : proto.op_type();
}

Status OnnxNode::Error(std::string what) { return InvalidArgument(std::move(what)); }

StatusOr<relax::Expr> OnnxNode::Input(size_t i) const {
  if (!HasInput(i)) return Error(fmt::format("input {} is missing", i));
  return *inputs_[i];
}

StatusOr<std::vector<int64_t>> ShapeOf(const relax::Expr& e) {
  std::optional<std::vector<int64_t>> shape = relax::ConstantShapeOf(e.struct_info());
  if (!shape) return InvalidArgument("the shape of a value is not known");
  return *std::move(shape);
}

StatusOr<std::vector<int64_t>> OnnxNode::Shape(size_t i) const {
  ASSIGN_OR_RETURN(const relax::Expr input, Input(i));
  return ShapeOf(input);
}

StatusOr<DataType> OnnxNode::DType(size_t i) const {
  ASSIGN_OR_RETURN(const relax::Expr input, Input(i));
  const auto* info = input.struct_info().As<relax::TensorStructInfo>();
  if (info == nullptr) return Error(fmt::format("input {} is no tensor", i));
  return info->dtype;
}

StatusOr<relax::TensorData> OnnxNode::ConstantInput(size_t i) const {
  ASSIGN_OR_RETURN(const relax::Expr input, Input(i));
  const relax::TensorData* data = relax::AsConstant(input);
  if (data == nullptr)
    return Error(fmt::format("input {} depends on the network's inputs{}, a constant required", i,
                             graph_.HasRunOut() ? ", or on constants whose evaluation has used up its steps" : ""));
  return *data;
}

StatusOr<std::vector<int64_t>> OnnxNode::ConstantInts(size_t i) const {
  ASSIGN_OR_RETURN(const relax::TensorData data, ConstantInput(i));
  if (!data.dtype().is_int())
    return Error(fmt::format("input {} is {}, integers required", i, data.dtype().ToString()));
  return data.ToInts();
}

size_t OnnxNode::num_outputs() const { return static_cast<size_t>(proto_.output_size()); }

bool OnnxNode::WantsOutput(size_t i) const {
  return i < static_cast<size_t>(proto_.output_size()) && !proto_.output(static_cast<int>(i)).empty();
}

const onnx::AttributeProto* OnnxNode::Find(std::string_view name, int type) const {
  asked_.insert(std::string(name));
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    if (type == 0 || attribute.type() == type) return &attribute;
    attr_status_ =
        Error(fmt::format("attribute {} has type {}, {} required", name, static_cast<int>(attribute.type()), type));
    return nullptr;
  }
  return nullptr;
}

Status OnnxNode::CheckAllAttributesRead() const {
  // What says nothing about the result of inference.
  constexpr std::string_view kIdle[] = {"consumed_inputs", "is_test", "momentum",     "ratio",
                                        "saturate",        "seed",    "storage_order"};
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    const bool is_idle = std::find(std::begin(kIdle), std::end(kIdle), attribute.name()) != std::end(kIdle);
    if (!is_idle && !asked_.contains(attribute.name()))
      return Error(
          fmt::format("attribute {} is not known in opset {}; export the model without it", attribute.name(), opset_));
  }
  return OkStatus();
}

bool OnnxNode::Has(std::string_view name) const { return Find(name, 0) != nullptr; }
int64_t OnnxNode::Int(std::string_view name, int64_t absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::INT);
  return attribute == nullptr ? absent : attribute->i();
}
double OnnxNode::Float(std::string_view name, double absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::FLOAT);
  return attribute == nullptr ? absent : static_cast<double>(attribute->f());
}
std::string OnnxNode::String(std::string_view name, std::string_view absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::STRING);
  return attribute == nullptr ? std::string(absent) : attribute->s();
}
std::vector<int64_t> OnnxNode::Ints(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::INTS);
  return attribute == nullptr ? std::vector<int64_t>()
                              : std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}
std::vector<double> OnnxNode::Floats(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::FLOATS);
  return attribute == nullptr ? std::vector<double>()
                              : std::vector<double>(attribute->floats().begin(), attribute->floats().end());
}
StatusOr<relax::TensorData> OnnxNode::TensorAttr(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::TENSOR);
  if (attribute == nullptr) return Error(fmt::format("tensor attribute {} is missing", name));
  return TensorFromProto(attribute->t());
}

StatusOr<std::optional<std::vector<int64_t>>> OnnxNode::IntsAttrOrInput(std::string_view name, size_t i,
                                                                        int64_t input_since) const {
  if (opset_ < input_since) return Has(name) ? std::optional(Ints(name)) : std::nullopt;
  if (!HasInput(i)) return std::optional<std::vector<int64_t>>();
  ASSIGN_OR_RETURN(std::vector<int64_t> values, ConstantInts(i));
  return std::optional(std::move(values));
}

StatusOr<relax::Expr> OnnxNode::Emit(std::string_view op, std::vector<relax::Expr> args, AttrMap attrs) const {
  return graph_.Emit(op, std::move(args), std::move(attrs));
}

StatusOr<relax::Expr> OnnxNode::Reshape(const relax::Expr& e, const std::vector<int64_t>& shape) const {
  ASSIGN_OR_RETURN(const std::vector<int64_t> now, ShapeOf(e));
  if (now == shape) return e;
  return Emit("reshape", {e, relax::MakeShape(shape)});
}

NodeOutputs OneOutput(StatusOr<relax::Expr> output) {
  if (!output.ok()) return output.status();
  return std::vector<relax::Expr>{*std::move(output)};
}

}  // namespace lathe
