// The onnx project's tests of single operators, as far as their operators can be imported, by the interpreter. Compiled
// and executed: tests/e2e/node_outputs_test.cc.
#include <gmock/gmock.h>

#include "tests/compiler/import/onnx/node_case.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/reference/compare.h"

namespace lathe {
namespace {

// With the first input as the network's input; as a constant, too, where its value must be known (ConstantOfShape).
StatusOr<std::vector<reference::Tensor>> RunCase(const NodeCase& node) {
  const std::vector<reference::Tensor>& inputs = node.data.inputs;
  if (inputs.empty()) return RunNetwork(node.model, inputs);
  const auto outputs = RunNetwork(WithConstants(node, 1), {inputs[0]});
  if (outputs.ok() || outputs.status().message().find("a constant required") == std::string::npos) return outputs;
  return RunNetwork(WithConstants(node, 0), {});
}

TEST(OnnxNodeTests, GiveTheExpectedOutputs) {
  const std::string folder = LATHE_ONNX_NODE_TESTS;
  if (folder.empty()) GTEST_SKIP() << "no ONNX node tests; apt-get install libonnx-testdata";
  int passed = 0, refused = 0;
  for (const NodeCase& node : LoadNodeCases(folder)) {
    const auto outputs = RunCase(node);
    if (!outputs.ok()) {
      const bool is_refused = IsRefusedOnPurpose(outputs.status().message());
      EXPECT_TRUE(is_refused) << node.name << ": " << outputs.status().ToString();
      refused += is_refused ? 1 : 0;
      continue;
    }
    if (node.has_output_bits) continue;
    const Status same = reference::CompareAll(*outputs, node.data.outputs, {1e-3, 1e-6});
    EXPECT_TRUE(same.ok()) << node.name << ": " << same.message();
    passed += same.ok() ? 1 : 0;
  }
  std::printf("%d node tests passed, %d refused on purpose\n", passed, refused);
  EXPECT_GT(passed, 150);
}

}  // namespace
}  // namespace lathe
