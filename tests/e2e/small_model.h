// A network of two kernels, for tests of what is around a network.
#pragma once

#include <onnx/onnx_pb.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe {

// x [1, 3, 8, 8] -> Conv 3x3 to 4 channels -> Relu -> GlobalAveragePool -> Flatten -> y [1, 4]; `is_short` ends behind
// the Relu.
inline onnx::ModelProto SmallModel(bool is_short = false) {
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.add_opset_import()->set_version(13);
  onnx::GraphProto& graph = *model.mutable_graph();
  onnx::ValueInfoProto& input = *graph.add_input();
  input.set_name("x");
  onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : {1, 3, 8, 8}) type.mutable_shape()->add_dim()->set_dim_value(extent);
  std::vector<double> weights(4 * 3 * 3 * 3), bias = {0.1, -0.2, 0.3, 0.4};
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  reference::ToProto(reference::Tensor::Floats({4, 3, 3, 3}, weights), "w", *graph.add_initializer());
  reference::ToProto(reference::Tensor::Floats({4}, bias), "b", *graph.add_initializer());
  const auto add_node = [&](const char* op, std::vector<std::string> inputs, const char* output) -> onnx::NodeProto& {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type(op);
    for (const std::string& name : inputs) node.add_input(name);
    node.add_output(output);
    return node;
  };
  onnx::AttributeProto& pads = *add_node("Conv", {"x", "w", "b"}, "c").add_attribute();
  pads.set_name("pads");
  pads.set_type(onnx::AttributeProto::INTS);
  for (int i = 0; i < 4; ++i) pads.add_ints(1);
  add_node("Relu", {"c"}, "r");
  if (!is_short) {
    add_node("GlobalAveragePool", {"r"}, "p");
    add_node("Flatten", {"p"}, "y");
  }
  graph.add_output()->set_name(is_short ? "r" : "y");
  return model;
}

// What it is run on.
inline reference::Tensor SmallPicture() {
  std::vector<double> values(3 * 8 * 8);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::cos(0.3 * static_cast<double>(i)));
  return reference::Tensor::Floats({1, 3, 8, 8}, values);
}

}  // namespace lathe
