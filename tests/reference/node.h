// One node as its operator sees it: input values, attributes with their defaults, the operator set version in force.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/reference/tensor.h"

namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace lathe::reference {

class Node {
 public:
  // Keeps the references. `inputs` has nullptr where an optional input is absent.
  Node(const onnx::NodeProto& proto, int64_t opset, std::vector<const Tensor*> inputs);

  int64_t opset() const { return opset_; }
  size_t num_inputs() const { return inputs_.size(); }
  bool HasInput(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Tensor& Input(size_t i) const;  // HasInput(i).
  size_t num_outputs() const;
  bool WantsOutput(size_t i) const;  // Named by the node, and not ''.

  // An attribute of another type than the one asked for reads as its default and is remembered in attribute_status().
  bool Has(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t absent) const;
  double Float(std::string_view name, double absent) const;
  std::string String(std::string_view name, std::string_view absent) const;
  std::vector<int64_t> Ints(std::string_view name) const;   // Empty if absent.
  std::vector<double> Floats(std::string_view name) const;  // Empty if absent.
  StatusOr<Tensor> TensorValue(std::string_view name) const;
  // A sparse tensor made dense.
  StatusOr<Tensor> SparseTensorValue(std::string_view name) const;
  const Status& attribute_status() const { return attribute_status_; }

  // An integer list that is attribute `name` in old operator sets and input `i` in newer ones; absent is empty.
  StatusOr<std::vector<int64_t>> IntsFromAttributeOrInput(std::string_view name, size_t i, int64_t input_since) const;

 private:
  const onnx::AttributeProto* Find(std::string_view name, int type) const;

  const onnx::NodeProto& proto_;
  int64_t opset_;
  std::vector<const Tensor*> inputs_;
  mutable Status attribute_status_;
};

// The outputs of one operator. Optional outputs may be given although the node does not want them.
using Outputs = StatusOr<std::vector<Tensor>>;
inline std::vector<Tensor> One(Tensor tensor) {
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(tensor));
  return outputs;
}

// Errors if the tensor is not made of floats / integers.
Status RequireFloats(const Tensor& tensor, std::string_view what);
Status RequireInts(const Tensor& tensor, std::string_view what);

}  // namespace lathe::reference
