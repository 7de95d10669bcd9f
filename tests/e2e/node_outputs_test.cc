// The onnx project's tests of single operators as users would run them, `lathe compile` and `lathe run --data`: import,
// passes, code generation, artifact and executor. All inputs are inputs of the network as far as the operator allows,
// so that kernels of several inputs are among them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/compiler/import/onnx/node_case.h"
#include "tests/e2e/program_run.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

class NodeOutputsTest : public testing::Test {
 protected:
  NodeOutputsTest() { setenv("LATHE_DB", (folder / "none.db").c_str(), 1); }

  // The inputs before `first` are the network's, the others constants; empty: it cannot be compiled, `why` says why.
  bool Compile(const NodeCase& node, size_t first, std::string& why) {
    std::ofstream(model, std::ios::binary) << WithConstants(node, first).SerializeAsString();
    const ProgramRun run = RunProgram({"lathe", "compile", model, "-o", artifact});
    EXPECT_TRUE(run.code == 0 || run.code == 2) << node.name << ": " << run.code << "\n" << run.err;
    why = run.err;
    return run.code == 0;
  }
  // How many inputs are the network's, in the artifact; nullopt: none of the ways can be compiled.
  std::optional<size_t> CompileAnyWay(const NodeCase& node, std::string& why) {
    const size_t count = node.data.inputs.size();
    std::vector<size_t> ways = {count};
    if (count > 1) ways.push_back(1);
    if (count > 0) ways.push_back(0);
    for (const size_t first : ways)
      if (Compile(node, first, why)) return first;
    return std::nullopt;
  }
  void ExpectOutputs(const NodeCase& node, size_t num_inputs) {
    fs::remove_all(data);
    fs::create_directories(data);
    for (size_t i = 0; i < num_inputs; ++i) {
      const Status saved =
          reference::SaveTensor(node.data.inputs[i], node.model.graph().input(static_cast<int>(i)).name(),
                                fmt::format("{}/input_{}.pb", data, i));
      ASSERT_TRUE(saved.ok()) << saved.ToString();
    }
    for (size_t i = 0; i < node.data.outputs.size(); ++i) {
      const Status saved =
          reference::SaveTensor(node.data.outputs[i], node.model.graph().output(static_cast<int>(i)).name(),
                                fmt::format("{}/output_{}.pb", data, i));
      ASSERT_TRUE(saved.ok()) << saved.ToString();
    }
    const ProgramRun run = RunProgram({"lathe", "run", artifact, "--data", data, "--rtol", "1e-3", "--atol", "1e-6"});
    EXPECT_EQ(run.code, 0) << node.name << "\n" << run.err;
    EXPECT_THAT(run.out, testing::HasSubstr("as expected")) << node.name;
  }

  TemporaryFolder folder;
  std::string model = folder / "model.onnx", artifact = folder / "network.so", data = folder / "data";
};

TEST_F(NodeOutputsTest, GiveTheExpectedOutputs) {
  const std::string tests = LATHE_ONNX_NODE_TESTS;
  if (tests.empty()) GTEST_SKIP() << "no ONNX node tests; apt-get install libonnx-testdata";
  int passed = 0, refused = 0, with_several_inputs = 0;
  for (const NodeCase& node : LoadNodeCases(tests)) {
    std::string why;
    const std::optional<size_t> num_inputs = CompileAnyWay(node, why);
    if (!num_inputs) {
      EXPECT_TRUE(IsRefusedOnPurpose(why)) << node.name << ": " << why;
      ++refused;
      continue;
    }
    if (node.has_input_bits || node.has_output_bits) continue;
    ExpectOutputs(node, *num_inputs);
    ++passed;
    with_several_inputs += *num_inputs > 1 ? 1 : 0;
  }
  std::printf("%d node tests compiled and run, %d of them with several inputs; %d refused on purpose\n", passed,
              with_several_inputs, refused);
  EXPECT_GT(passed, 150);
  EXPECT_GT(with_several_inputs, 40);
}

}  // namespace
}  // namespace lathe
