// The onnx project's tests of single operators (package libonnx-testdata), as far as their operators can be imported.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>

#include "compiler/import/onnx/operators.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

bool CanImport(const onnx::ModelProto& model) {
  return std::all_of(model.graph().node().begin(), model.graph().node().end(), [](const onnx::NodeProto& node) {
    return (node.domain().empty() || node.domain() == "ai.onnx") && FindOnnxOperator(node.op_type()) != nullptr;
  });
}

// These tests have no initializers: axes, shapes, bounds and statistics are graph inputs. All but the first input
// become initializers, as they are in real models.
onnx::ModelProto WithConstants(onnx::ModelProto model, const std::vector<reference::Tensor>& inputs, size_t first) {
  for (size_t i = first; i < inputs.size(); ++i)
    reference::ToProto(inputs[i], model.graph().input(static_cast<int>(i)).name(),
                       *model.mutable_graph()->add_initializer());
  return model;
}

// What the importer refuses on purpose: outputs and forms that no inference of a CNN needs, and extents of 0, which
// exporters write for unknown ones.
bool IsRefused(const std::string& message) {
  for (const char* words : {"output Indices", "training_mode is", "outputs of training", "is not supported; floats",
                            "is no tensor", "has unbound dimensions"}) {
    if (message.find(words) != std::string::npos) return true;
  }
  return false;
}

// With the first input as the network's input; as a constant, too, where its value must be known (ConstantOfShape).
StatusOr<std::vector<reference::Tensor>> RunCase(const onnx::ModelProto& model,
                                                 const std::vector<reference::Tensor>& inputs) {
  if (inputs.empty()) return RunNetwork(model, inputs);
  const auto outputs = RunNetwork(WithConstants(model, inputs, 1), {inputs[0]});
  if (outputs.ok() || outputs.status().message().find("a constant required") == std::string::npos) return outputs;
  return RunNetwork(WithConstants(model, inputs, 0), {});
}

TEST(OnnxNodeTests, GiveTheExpectedOutputs) {
  const std::string folder = LATHE_ONNX_NODE_TESTS;
  if (folder.empty()) GTEST_SKIP() << "no ONNX node tests; apt-get install libonnx-testdata";
  int passed = 0, refused = 0;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto model = reference::LoadModel(folder + "/" + name + "/model.onnx");
    if (!model.ok() || !CanImport(**model)) continue;
    for (const std::string& set : reference::DataSetFolders(folder + "/" + name)) {
      const auto data = reference::LoadDataSet(set);
      if (!data.ok() || data->inputs.size() != static_cast<size_t>((*model)->graph().input_size())) continue;
      const auto outputs = RunCase(**model, data->inputs);
      if (!outputs.ok()) {
        const bool is_refused = IsRefused(outputs.status().message());
        EXPECT_TRUE(is_refused) << name << ": " << outputs.status().ToString();
        refused += is_refused ? 1 : 0;
        continue;
      }
      const auto is_bits = [](const reference::Tensor& tensor) { return tensor.type == reference::DataType::kUint16; };
      if (name.find("BFLOAT16") != std::string::npos &&
          std::any_of(data->outputs.begin(), data->outputs.end(), is_bits))
        continue;  // Stored by bit pattern.
      const Status same = reference::CompareAll(*outputs, data->outputs, {1e-3, 1e-6});
      EXPECT_TRUE(same.ok()) << name << ": " << same.message();
      passed += same.ok() ? 1 : 0;
    }
  }
  std::printf("%d node tests passed, %d refused on purpose\n", passed, refused);
  EXPECT_GT(passed, 150);
}

}  // namespace
}  // namespace lathe
