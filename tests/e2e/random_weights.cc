#include "tests/e2e/random_weights.h"

#include <cmath>
#include <map>
#include <set>

#include "tests/reference/tensor_io.h"

namespace lathe {

onnx::ModelProto WithRandomWeights(onnx::ModelProto model, Random random) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& tensor : graph.initializer()) {
    const auto value = reference::FromProto(tensor);
    if (value.ok()) shapes[tensor.name()] = value->ints;
  }
  std::set<std::string> positive;
  for (const auto& node : graph.node()) {
    if (node.op_type() == "BatchNormalization") positive.insert({node.input(1), node.input(4)});
    if (node.op_type() == "Softmax") graph.mutable_output(0)->set_name(node.input(0));
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (const auto& node : graph.node()) {
    if (node.op_type() != "ConstantOfShape") {
      *kept.Add() = node;
      continue;
    }
    const std::vector<int64_t>& shape = shapes.at(node.input(0));
    std::vector<double> values(static_cast<size_t>(reference::Product(shape)));
    const double spread =
        shape.size() >= 2 ? std::sqrt(6.0 * static_cast<double>(shape[0]) / static_cast<double>(values.size())) : 0.1;
    for (double& value : values)
      value = static_cast<float>(positive.contains(node.output(0)) ? 0.5 + random.Unit()
                                                                   : spread * (2 * random.Unit() - 1));
    reference::ToProto(reference::Tensor::Floats(shape, values), node.output(0), *graph.add_initializer());
  }
  *graph.mutable_node() = kept;
  return model;
}

}  // namespace lathe
