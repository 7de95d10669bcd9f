// The oracle of whole networks: evaluates an ONNX model node by node with plain loops, floats in double, integers
// exact.
//
// Covers CNN classifiers (operators.cc has the table) up to opset 22. It shares no code with the compiler, so that one
// cannot repeat the mistakes of the other. Bad models are a Status; nothing here keeps state, so any number of threads
// may call it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/reference/tensor.h"

namespace onnx {
class ModelProto;
}

namespace lathe::reference {

StatusOr<std::shared_ptr<const onnx::ModelProto>> LoadModel(const std::string& path);

// The graph inputs that are no initializers (models of IR version 3 list those as inputs too), in graph order.
std::vector<std::string> InputNames(const onnx::ModelProto& model);
std::vector<std::string> OutputNames(const onnx::ModelProto& model);

// The graph's outputs in graph order, for `inputs` in the order of InputNames. Unknown operators are one error that
// lists them all with their nodes.
StatusOr<std::vector<Tensor>> Evaluate(const onnx::ModelProto& model, const std::vector<Tensor>& inputs);
// The same for any values of the graph, to find the first one that differs. Evaluates only what they need.
StatusOr<std::vector<Tensor>> EvaluateValues(const onnx::ModelProto& model, const std::vector<Tensor>& inputs,
                                             const std::vector<std::string>& names);

}  // namespace lathe::reference
