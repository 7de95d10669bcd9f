// Networks as users run them, `lathe compile` and `lathe run --data`: untuned, and with a database of random schedules,
// the outputs are the expected ones. Networks of $LATHE_SHARED/models (or ../shared/models beside the repository), this
// project's own ResNet-18, and those that make_models.py wrote if $LATHE_MODELS names their folder. $LATHE_SEED sets
// other schedules.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/network.h"
#include "tests/e2e/program_run.h"
#include "tests/e2e/random_records.h"
#include "tests/e2e/random_weights.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kRecordsPerTask = 2;

uint64_t Seed() {
  const char* text = std::getenv("LATHE_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

std::string SharedFolder() {
  const char* shared = std::getenv("LATHE_SHARED");
  return std::string(shared != nullptr ? shared : LATHE_SOURCE_DIR "/../shared") + "/models";
}

// The manifest's tolerance per case; that of ONNX's own runner for the others.
reference::Tolerance ToleranceOf(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + "/manifest.json");
  const nlohmann::json manifest = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains(name)) return {};
  return {manifest[name].value("rtol", 1e-3), manifest[name].value("atol", 1e-7)};
}

class NetworkOutputsTest : public testing::Test {
 protected:
  NetworkOutputsTest() { setenv("LATHE_DB", (folder / "none.db").c_str(), 1); }

  // Compiles with these flags; every kernel's schedule is `schedule` (HIT or MISS).
  void Compile(const std::vector<std::string>& flags, const std::string& schedule) {
    std::vector<std::string> arguments = {"lathe", "compile", model, "-o", artifact, "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProgramRun run = RunProgram(arguments);
    ASSERT_EQ(run.code, 0) << run.err;
    const nlohmann::json json = nlohmann::json::parse(run.out, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object() && json["kernels"].is_array()) << run.out;
    EXPECT_FALSE(json["kernels"].empty());
    for (const nlohmann::json& kernel : json["kernels"]) EXPECT_EQ(kernel["schedule"], schedule) << kernel["name"];
  }
  void ExpectOutputs() {
    ASSERT_FALSE(data_sets.empty()) << "no test_data_set_* beside " << model;
    for (const std::string& data : data_sets) {
      const ProgramRun run =
          RunProgram({"lathe", "run", artifact, "--data", data, "--threads", "2", "--rtol",
                      fmt::format("{}", tolerance.rtol), "--atol", fmt::format("{}", tolerance.atol)});
      EXPECT_EQ(run.code, 0) << data << "\n" << run.err;
      EXPECT_THAT(run.out, HasSubstr("as expected"));
    }
  }
  // A database with records of random schedules for every task of the network.
  void TuneAtRandom(uint64_t seed) {
    database = folder / fmt::format("seed{}.db", seed);
    const StatusOr<Target> target = Target::Parse("auto");
    ASSERT_TRUE(target.ok()) << target.status().ToString();
    const auto network = LoadNetwork(model, {}, *target, /*opt_level=*/3);
    ASSERT_TRUE(network.ok()) << network.status().ToString();
    const Status written = WriteRandomRecords(*network, *target, seed, kRecordsPerTask, database);
    ASSERT_TRUE(written.ok()) << written.ToString();
  }
  void ExpectRightUntunedAndTuned(int databases) {
    Compile({}, "MISS");
    ExpectOutputs();
    for (int i = 0; i < databases && !HasFatalFailure(); ++i) {
      const uint64_t seed = Seed() + static_cast<uint64_t>(i);
      SCOPED_TRACE(fmt::format("LATHE_SEED={}", seed));
      TuneAtRandom(seed);
      if (HasFatalFailure()) return;
      Compile({"--db", database}, "HIT");
      ExpectOutputs();
    }
  }
  void UseCase(const std::string& models, const std::string& name) {
    model = models + "/" + name + "/model.onnx";
    data_sets = reference::DataSetFolders(models + "/" + name);
    tolerance = ToleranceOf(models, name);
  }

  TemporaryFolder folder;
  std::string model, artifact = folder / "network.so", database;
  std::vector<std::string> data_sets;
  reference::Tolerance tolerance;
};

struct SharedCase {
  const char* name;
  int databases;
};
class SharedNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<SharedCase> {};

TEST_P(SharedNetworkTest, GivesItsExpectedOutputs) {
  if (!fs::exists(SharedFolder() + "/" + GetParam().name))
    GTEST_SKIP() << "no folder " << SharedFolder() << "/" << GetParam().name << "; set LATHE_SHARED";
  UseCase(SharedFolder(), GetParam().name);
  ExpectRightUntunedAndTuned(GetParam().databases);
}
INSTANTIATE_TEST_SUITE_P(Shared, SharedNetworkTest,
                         testing::Values(SharedCase{"mobilenet_v2_tiny", 3}, SharedCase{"bert_tiny", 1}),
                         [](const auto& info) { return info.param.name; });

// Networks whose extents are not said: compiled anew for the shapes of every data set.
class SharedDynamicNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<const char*> {
 protected:
  // --input-shape for each input of the model, as the data set has them.
  std::vector<std::string> InputShapes(const std::string& data) {
    const auto loaded = reference::LoadModel(model);
    const auto values = reference::LoadDataSet(data);
    EXPECT_TRUE(loaded.ok() && values.ok()) << loaded.status().ToString() << values.status().ToString();
    std::vector<std::string> flags;
    if (!loaded.ok() || !values.ok()) return flags;
    const std::vector<std::string> names = reference::InputNames(**loaded);
    EXPECT_EQ(names.size(), values->inputs.size());
    for (size_t i = 0; i < std::min(names.size(), values->inputs.size()); ++i) {
      flags.push_back("--input-shape");
      flags.push_back(fmt::format("{}={}", names[i], fmt::join(values->inputs[i].dims, ",")));
    }
    return flags;
  }
};

TEST_P(SharedDynamicNetworkTest, GivesItsExpectedOutputsForEachShape) {
  if (!fs::exists(SharedFolder() + "/" + GetParam()))
    GTEST_SKIP() << "no folder " << SharedFolder() << "/" << GetParam() << "; set LATHE_SHARED";
  UseCase(SharedFolder(), GetParam());
  const std::vector<std::string> all = data_sets;
  ASSERT_GE(all.size(), 2u);
  for (const std::string& data : all) {
    SCOPED_TRACE(data);
    Compile(InputShapes(data), "MISS");
    if (HasFatalFailure()) return;
    data_sets = {data};
    ExpectOutputs();
  }
}
INSTANTIATE_TEST_SUITE_P(Shared, SharedDynamicNetworkTest, testing::Values("bert_tiny_dyn", "transformer_block_dyn"),
                         [](const auto& info) { return info.param; });

// The light graphs with their own weights and the published output, then with weights that show mistakes and the
// reference's output.
class LightNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<const char*> {
 protected:
  void UseRandomWeights() {
    const auto loaded = reference::LoadModel(model);
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    const onnx::ModelProto random = WithRandomWeights(**loaded, Random(5));
    model = folder / "random.onnx";
    std::ofstream file(model, std::ios::binary);
    ASSERT_TRUE(random.SerializeToOstream(&file));
    Random pixels(6);
    std::vector<double> image(3 * 224 * 224);
    for (double& pixel : image) pixel = static_cast<float>(2 * pixels.Unit() - 1);
    const std::vector<reference::Tensor> inputs = {reference::Tensor::Floats({1, 3, 224, 224}, image)};
    const auto expected = reference::Evaluate(random, inputs);
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    const std::vector<double>& values = (*expected)[0].floats;
    double largest = 0, spread = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    for (const double value : values) spread = std::max(spread, std::abs(value - values[0]));
    EXPECT_GT(spread, 0.01 * largest) << "the outputs are all alike and show nothing";
    tolerance = {1e-3, 1e-4 * largest};
    data_sets = {folder / "data"};
    fs::create_directory(data_sets[0]);
    ASSERT_TRUE(reference::SaveTensor(inputs[0], "image", data_sets[0] + "/input_0.pb").ok());
    ASSERT_TRUE(reference::SaveTensor((*expected)[0], "logits", data_sets[0] + "/output_0.pb").ok());
  }
};

TEST_P(LightNetworkTest, GivesItsExpectedOutputs) {
  if (!fs::exists(SharedFolder() + "/" + GetParam()))
    GTEST_SKIP() << "no folder " << SharedFolder() << "/" << GetParam() << "; set LATHE_SHARED";
  UseCase(SharedFolder(), GetParam());
  TuneAtRandom(Seed());
  if (HasFatalFailure()) return;
  Compile({"--db", database}, "HIT");
  ExpectOutputs();
  UseRandomWeights();
  if (HasFatalFailure()) return;
  Compile({}, "MISS");
  ExpectOutputs();
  Compile({"--db", database}, "HIT");  // Weights are no part of a workload.
  ExpectOutputs();
}
INSTANTIATE_TEST_SUITE_P(Shared, LightNetworkTest,
                         testing::Values("light_squeezenet", "light_shufflenet", "light_resnet50",
                                         "light_bvlc_alexnet"),
                         [](const auto& info) { return info.param; });

class OwnResNet18Test : public NetworkOutputsTest {
 protected:
  // By the programs that README names; expected outputs are the float64 reference's.
  void Make(const std::vector<std::string>& flags) {
    model = folder / "resnet18.onnx";
    std::vector<std::string> arguments = {"lathe-demo-model", "resnet18", "-o", model, "--with-data", folder / "case"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProgramRun made = RunProgram(arguments);
    ASSERT_EQ(made.code, 0) << made.err;
    data_sets = reference::DataSetFolders(folder / "case");
    ASSERT_EQ(data_sets.size(), 1u);
    const ProgramRun evaluated = RunProgram({"lathe-reference", model, data_sets[0]});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    tolerance = {1e-3, 1e-4};
  }
};

TEST_F(OwnResNet18Test, GivesTheReferencesOutputs) {
  Make({"--image", "64"});
  if (!HasFatalFailure()) ExpectRightUntunedAndTuned(/*databases=*/2);
}

// What this machine cannot run can be built on it. The schedule of an untuned network may not count on registers that
// another processor does not have.
const char* const kProcessors[] = {"llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v2 -num-cores=2",
                                   "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-cores=2",
                                   "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=2",
                                   "raspberry-pi/4b-aarch64"};

TEST_F(OwnResNet18Test, CompilesUntunedForEveryProcessor) {
  Make({"--image", "33", "--width", "0.25"});
  for (const char* target : kProcessors) {
    SCOPED_TRACE(target);
    if (!HasFatalFailure()) Compile({"--target", target}, "MISS");
  }
}

class UntunedNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<const char*> {};
TEST_P(UntunedNetworkTest, CompilesForEveryProcessor) {
  if (!fs::exists(SharedFolder() + "/" + GetParam()))
    GTEST_SKIP() << "no folder " << SharedFolder() << "/" << GetParam() << "; set LATHE_SHARED";
  UseCase(SharedFolder(), GetParam());
  for (const char* target : kProcessors) {
    SCOPED_TRACE(target);
    if (!HasFatalFailure()) Compile({"--target", target}, "MISS");
  }
}
INSTANTIATE_TEST_SUITE_P(Shared, UntunedNetworkTest,
                         testing::Values("mobilenet_v2_tiny", "bert_tiny", "light_squeezenet", "light_shufflenet"),
                         [](const auto& info) { return info.param; });

TEST_F(OwnResNet18Test, GivesTheReferencesOutputsAtEveryLevel) {
  Make({"--image", "32", "--width", "0.25"});
  for (const char* level : {"0", "1", "2", "3"}) {
    if (HasFatalFailure()) return;
    SCOPED_TRACE(fmt::format("--opt-level {}", level));
    Compile({"--opt-level", level}, "MISS");
    ExpectOutputs();
  }
}

std::vector<std::string> GeneratedCases() {
  std::vector<std::string> names;
  const char* models = std::getenv("LATHE_MODELS");
  for (const char* name : {"resnet18", "resnet18_bn", "mobilenet_v2", "mobilenet_v2_tiny", "rand_squeezenet",
                           "rand_shufflenet", "rand_resnet50", "rand_bvlc_alexnet", "resnet50"}) {
    if (models != nullptr && fs::exists(fmt::format("{}/{}", models, name))) names.push_back(name);
  }
  return names;
}
class GeneratedNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GeneratedNetworkTest);

TEST_P(GeneratedNetworkTest, GivesItsExpectedOutputs) {
  UseCase(std::getenv("LATHE_MODELS"), GetParam());
  ExpectRightUntunedAndTuned(/*databases=*/1);
}
INSTANTIATE_TEST_SUITE_P(Generated, GeneratedNetworkTest, testing::ValuesIn(GeneratedCases()),
                         [](const auto& info) { return info.param; });

TEST(GeneratedNetworks, AreThere) {
  if (GeneratedCases().empty()) GTEST_SKIP() << "LATHE_MODELS names no folder that make_models.py wrote";
}

struct RefusedCase {
  const char* name;
  std::vector<const char*> says;
};
class RefusedNetworkTest : public NetworkOutputsTest, public testing::WithParamInterface<RefusedCase> {};

TEST_P(RefusedNetworkTest, FailsWithOneErrorThatListsEverything) {
  model = SharedFolder() + "/" + GetParam().name + "/model.onnx";
  if (!fs::exists(model)) GTEST_SKIP() << "no " << model << "; set LATHE_SHARED";
  for (const char* verb : {"compile", "tune"}) {
    const ProgramRun run = std::string(verb) == "compile" ? RunProgram({"lathe", verb, model, "-o", artifact})
                                                          : RunProgram({"lathe", verb, model, "--list-tasks"});
    EXPECT_EQ(run.code, 2) << verb;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    EXPECT_THAT(run.err, testing::StartsWith("lathe: import " + model + ": "));
    for (const char* words : GetParam().says) EXPECT_THAT(run.err, HasSubstr(words)) << verb;
  }
  EXPECT_FALSE(fs::exists(artifact));
}
INSTANTIATE_TEST_SUITE_P(
    Shared, RefusedNetworkTest,
    testing::Values(
        RefusedCase{"bert_tiny_dyn",
                    {"input \"ids\" has unbound dimensions [batch, seq]: give its extents, e.g. --input-shape ids=1,1",
                     "input \"mask\" has unbound dimensions", "input \"types\" has unbound dimensions"}},
        RefusedCase{
            "transformer_block_dyn",
            {"input \"x\" has unbound dimensions [batch, seq, 64]: give its extents, e.g. --input-shape x=1,1,64"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
