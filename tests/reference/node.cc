#include "tests/reference/node.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tests/reference/tensor_io.h"

namespace lathe::reference {

Node::Node(const onnx::NodeProto& proto, int64_t opset, std::vector<const Tensor*> inputs)
    : proto_(proto), opset_(opset), inputs_(std::move(inputs)) {}

const Tensor& Node::Input(size_t i) const {
  CHECK(HasInput(i)) << proto_.op_type() << " input " << i;
  return *inputs_[i];
}

size_t Node::num_outputs() const { return static_cast<size_t>(proto_.output_size()); }
bool Node::WantsOutput(size_t i) const { return i < num_outputs() && !proto_.output(static_cast<int>(i)).empty(); }

const onnx::AttributeProto* Node::Find(std::string_view name, int type) const {
  for (const onnx::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() == type || attribute.type() == onnx::AttributeProto::UNDEFINED) return &attribute;
    attribute_status_ = InvalidArgument(fmt::format(
        "attribute \"{}\" has type {}, {} required", name, onnx::AttributeProto::AttributeType_Name(attribute.type()),
        onnx::AttributeProto::AttributeType_Name(static_cast<onnx::AttributeProto::AttributeType>(type))));
  }
  return nullptr;
}

bool Node::Has(std::string_view name) const {
  return std::any_of(proto_.attribute().begin(), proto_.attribute().end(),
                     [&](const auto& a) { return a.name() == name; });
}

int64_t Node::Int(std::string_view name, int64_t absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::INT);
  return attribute ? attribute->i() : absent;
}

double Node::Float(std::string_view name, double absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::FLOAT);
  return attribute ? attribute->f() : absent;
}

std::string Node::String(std::string_view name, std::string_view absent) const {
  const auto* attribute = Find(name, onnx::AttributeProto::STRING);
  return attribute ? attribute->s() : std::string(absent);
}

std::vector<int64_t> Node::Ints(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::INTS);
  return attribute ? std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end()) : std::vector<int64_t>();
}

std::vector<double> Node::Floats(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::FLOATS);
  return attribute ? std::vector<double>(attribute->floats().begin(), attribute->floats().end())
                   : std::vector<double>();
}

StatusOr<Tensor> Node::TensorValue(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::TENSOR);
  if (!attribute) return InvalidArgument(fmt::format("no tensor attribute \"{}\"", name));
  return FromProto(attribute->t());
}

StatusOr<Tensor> Node::SparseTensorValue(std::string_view name) const {
  const auto* attribute = Find(name, onnx::AttributeProto::SPARSE_TENSOR);
  if (!attribute) return InvalidArgument(fmt::format("no sparse tensor attribute \"{}\"", name));
  const onnx::SparseTensorProto& sparse = attribute->sparse_tensor();
  ASSIGN_OR_RETURN(const Tensor values, FromProto(sparse.values()));
  ASSIGN_OR_RETURN(const Tensor indices, FromProto(sparse.indices()));
  RETURN_IF_ERROR(RequireInts(indices, "indices"));
  Dims dims(sparse.dims().begin(), sparse.dims().end());
  ASSIGN_OR_RETURN(const int64_t count, ElementCount(dims));
  const int64_t rank = static_cast<int64_t>(dims.size());
  const bool linear = indices.rank() <= 1;
  if (indices.size() != values.size() * (linear ? 1 : rank)) {
    return InvalidArgument(
        fmt::format("sparse tensor {}: {} indices for {} values", DimsText(dims), indices.size(), values.size()));
  }
  const Dims strides = Strides(dims);
  std::vector<int64_t> from(count, kOutside);
  for (int64_t v = 0; v < values.size(); ++v) {
    int64_t at = linear ? indices.ints[v] : 0;
    for (int64_t a = 0; !linear && a < rank; ++a) {
      const int64_t index = indices.ints[v * rank + a];
      if (index < 0 || index >= dims[a])
        return InvalidArgument(fmt::format("sparse tensor {}: index {}", DimsText(dims), index));
      at += index * strides[a];
    }
    if (at < 0 || at >= count) return InvalidArgument(fmt::format("sparse tensor {}: index {}", DimsText(dims), at));
    from[at] = v;
  }
  return Take(values, std::move(dims), from);
}

StatusOr<std::vector<int64_t>> Node::IntsFromAttributeOrInput(std::string_view name, size_t i,
                                                              int64_t input_since) const {
  if (opset_ < input_since) return Ints(name);
  if (!HasInput(i)) return std::vector<int64_t>();
  RETURN_IF_ERROR(RequireInts(Input(i), name));
  return Input(i).ints;
}

Status RequireFloats(const Tensor& tensor, std::string_view what) {
  if (IsFloat(tensor.type)) return OkStatus();
  return InvalidArgument(fmt::format("{} is {}, floats required", what, TypeText(tensor)));
}

Status RequireInts(const Tensor& tensor, std::string_view what) {
  if (!IsFloat(tensor.type)) return OkStatus();
  return InvalidArgument(fmt::format("{} is {}, integers required", what, TypeText(tensor)));
}

}  // namespace lathe::reference
