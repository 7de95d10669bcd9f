// Whole networks with expected outputs. The folder is $LATHE_SHARED/models or ../shared/models beside the repository; a
// folder that make_models.py wrote is read too if $LATHE_MODELS names it.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe::reference {
namespace {

namespace fs = std::filesystem;

std::string ModelsFolder() {
  const char* shared = std::getenv("LATHE_SHARED");
  return std::string(shared ? shared : LATHE_SOURCE_DIR "/../shared") + "/models";
}

// The manifest's tolerance per case.
Tolerance ToleranceOf(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + "/manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains(name)) return {};
  return {manifest[name].value("rtol", 1e-3), manifest[name].value("atol", 1e-7)};
}

void ExpectNetworkMatches(const std::string& folder, const std::string& name) {
  const auto model = LoadModel(folder + "/" + name + "/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  const std::vector<std::string> sets = DataSetFolders(folder + "/" + name);
  EXPECT_FALSE(sets.empty());
  for (const std::string& set : sets) {
    const auto data = LoadDataSet(set);
    ASSERT_TRUE(data.ok()) << data.status().ToString();
    const auto outputs = Evaluate(**model, data->inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    EXPECT_EQ(CompareAll(*outputs, data->outputs, ToleranceOf(folder, name)), OkStatus()) << set;
  }
}

class NetworkTest : public testing::TestWithParam<const char*> {};

TEST_P(NetworkTest, MatchesItsExpectedOutputs) {
  const std::string folder = ModelsFolder();
  if (!fs::exists(folder + "/" + GetParam()))
    GTEST_SKIP() << "no folder " << folder << "/" << GetParam() << "; set LATHE_SHARED";
  ExpectNetworkMatches(folder, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Shared, NetworkTest,
                         testing::Values("light_bvlc_alexnet", "light_resnet50", "light_shufflenet", "light_squeezenet",
                                         "mobilenet_v2_tiny", "bert_tiny"),
                         [](const auto& info) { return info.param; });

TEST(GeneratedNetworks, MatchTheirExpectedOutputs) {
  const char* folder = std::getenv("LATHE_MODELS");
  if (!folder) GTEST_SKIP() << "LATHE_MODELS names no folder that make_models.py wrote";
  for (const char* name : {"resnet18", "resnet18_bn", "mobilenet_v2", "rand_squeezenet", "rand_shufflenet",
                           "rand_resnet50", "rand_bvlc_alexnet", "resnet50"}) {
    if (!fs::exists(std::string(folder) + "/" + name)) continue;
    SCOPED_TRACE(name);
    ExpectNetworkMatches(folder, name);
  }
}

}  // namespace
}  // namespace lathe::reference
