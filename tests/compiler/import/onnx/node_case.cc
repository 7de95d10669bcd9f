#include "tests/compiler/import/onnx/node_case.h"

#include <algorithm>
#include <filesystem>

#include "compiler/import/onnx/operators.h"
#include "tests/reference/evaluate.h"

namespace lathe {
namespace {

bool CanImport(const onnx::ModelProto& model) {
  return std::all_of(model.graph().node().begin(), model.graph().node().end(), [](const onnx::NodeProto& node) {
    return (node.domain().empty() || node.domain() == "ai.onnx") && FindOnnxOperator(node.op_type()) != nullptr;
  });
}

}  // namespace

std::vector<NodeCase> LoadNodeCases(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  std::vector<NodeCase> cases;
  for (const std::string& name : names) {
    const auto model = reference::LoadModel(folder + "/" + name + "/model.onnx");
    if (!model.ok() || !CanImport(**model)) continue;
    for (const std::string& set : reference::DataSetFolders(folder + "/" + name)) {
      auto data = reference::LoadDataSet(set);
      if (!data.ok() || data->inputs.size() != static_cast<size_t>((*model)->graph().input_size())) continue;
      const auto has_bits = [&](const std::vector<reference::Tensor>& tensors) {
        return name.find("BFLOAT16") != std::string::npos &&
               std::any_of(tensors.begin(), tensors.end(),
                           [](const reference::Tensor& tensor) { return tensor.type == reference::DataType::kUint16; });
      };
      const bool in = has_bits(data->inputs), out = has_bits(data->outputs);
      cases.push_back({name, **model, *std::move(data), in, out});
    }
  }
  return cases;
}

onnx::ModelProto WithConstants(const NodeCase& node, size_t first) {
  onnx::ModelProto model = node.model;
  for (size_t i = first; i < node.data.inputs.size(); ++i)
    reference::ToProto(node.data.inputs[i], model.graph().input(static_cast<int>(i)).name(),
                       *model.mutable_graph()->add_initializer());
  return model;
}

bool IsRefusedOnPurpose(const std::string& message) {
  for (const char* words : {"output Indices", "training_mode is", "outputs of training", "is not supported; floats",
                            "is no tensor", "has unbound dimensions"}) {
    if (message.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace lathe
