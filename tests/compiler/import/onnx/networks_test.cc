// Whole networks: task tables of the published ones, outputs of those that are small enough for the interpreter. The
// folder is $LATHE_SHARED/models or ../shared/models beside the repository.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <filesystem>

#include "compiler/relax/extract_tasks.h"
#include "compiler/relax/pipeline.h"
#include "compiler/relax/printer.h"
#include "deploy/demo/resnet18.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::string ModelPath(const std::string& name) {
  const char* shared = std::getenv("LATHE_SHARED");
  return std::string(shared != nullptr ? shared : LATHE_SOURCE_DIR "/../shared") + "/models/" + name + "/model.onnx";
}

struct Anchored {
  int tasks = 0, calls = 0;
  double gflop = 0;
};

Anchored CountAnchored(const std::vector<relax::ExtractedTask>& tasks) {
  Anchored result;
  for (const relax::ExtractedTask& task : tasks) {
    if (!task.is_anchored()) continue;
    ++result.tasks;
    result.calls += static_cast<int>(task.weight);
    result.gflop += task.anchor_flops * static_cast<double>(task.weight) * 1e-9;
  }
  return result;
}

StatusOr<std::vector<relax::ExtractedTask>> TasksOf(const StatusOr<relax::IRModule>& imported) {
  if (!imported.ok()) return imported.status();
  const StatusOr<relax::IRModule> module = relax::OptimizeForTuning(*imported, 16);
  if (!module.ok()) return module.status();
  return relax::ExtractTasks(*module);
}

// Figures of reference/models.md, section 4.
struct TaskTableCase {
  const char* model;
  int tasks, calls;
  double gflop;
};
class TaskTableTest : public testing::TestWithParam<TaskTableCase> {};

TEST_P(TaskTableTest, HasThePublishedAnchoredTasks) {
  const std::string path = ModelPath(GetParam().model);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set LATHE_SHARED";
  const auto tasks = TasksOf(ImportOnnx(path));
  ASSERT_TRUE(tasks.ok()) << tasks.status().ToString();
  const Anchored anchored = CountAnchored(*tasks);
  EXPECT_EQ(anchored.tasks, GetParam().tasks);
  EXPECT_EQ(anchored.calls, GetParam().calls);
  EXPECT_NEAR(anchored.gflop, GetParam().gflop, 0.001);
  if (HasFailure()) {
    for (const auto& task : *tasks)
      std::printf("%-50s %3d %12.0f\n", task.name.c_str(), int(task.weight), task.anchor_flops);
  }
}
INSTANTIATE_TEST_SUITE_P(Published, TaskTableTest,
                         testing::Values(TaskTableCase{"light_resnet50", 25, 54, 8.178},
                                         TaskTableCase{"light_squeezenet", 18, 26, 0.698},
                                         TaskTableCase{"light_shufflenet", 18, 50, 0.249},
                                         TaskTableCase{"light_bvlc_alexnet", 8, 8, 1.309}),
                         [](const auto& info) { return info.param.model; });

std::string Serialized(const demo::ResNet18Options& options) {
  return demo::BuildResNet18(options)->SerializeAsString();
}

TEST(ResNet18, HasThePublishedAnchoredTasks) {
  const auto tasks = TasksOf(ImportOnnxBytes(Serialized({}), "resnet18"));
  ASSERT_TRUE(tasks.ok()) << tasks.status().ToString();
  const Anchored anchored = CountAnchored(*tasks);
  EXPECT_EQ(anchored.tasks, 16);
  EXPECT_EQ(anchored.calls, 21);
  EXPECT_NEAR(anchored.gflop, 3.628, 0.001);
  std::map<std::string, int> kinds;
  for (const auto& task : *tasks)
    kinds[task.name.substr(0, task.name.find_last_not_of("_0123456789") + 1)] += static_cast<int>(task.weight);
  EXPECT_THAT(kinds, testing::UnorderedElementsAre(
                         testing::Pair("fused_conv2d_add_relu", 9), testing::Pair("fused_conv2d_add_add_relu", 8),
                         testing::Pair("fused_conv2d_add", 3), testing::Pair("fused_dense_add", 1),
                         testing::Pair("max_pool2d", 1), testing::Pair("adaptive_avg_pool", 1)));
}

struct LevelCase {
  int opt_level;
  int64_t lanes;
};
class SmallResNetTest : public testing::TestWithParam<LevelCase> {};
TEST_P(SmallResNetTest, MatchesTheReference) {
  const auto model = demo::BuildResNet18({.width = 0.125, .image = 32});
  ASSERT_TRUE(model.ok());
  std::vector<double> image(3 * 32 * 32);
  for (size_t i = 0; i < image.size(); ++i) image[i] = std::sin(static_cast<double>(i) * 0.37);
  const std::vector<reference::Tensor> inputs = {reference::Tensor::Floats({1, 3, 32, 32}, image)};
  const auto expected = reference::Evaluate(*model, inputs);
  ASSERT_TRUE(expected.ok());
  const auto actual = RunNetwork(*model, inputs, {GetParam().opt_level, GetParam().lanes});
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(reference::CompareAll(*actual, *expected, {1e-3, 1e-4}).message(), "");
}
INSTANTIATE_TEST_SUITE_P(Levels, SmallResNetTest,
                         testing::Values(LevelCase{0, 16}, LevelCase{2, 16}, LevelCase{3, 16}, LevelCase{3, 4}),
                         [](const auto& info) {
                           return "O" + std::to_string(info.param.opt_level) + "_lanes" +
                                  std::to_string(info.param.lanes);
                         });

TEST(MobileNetV2Tiny, MatchesItsExpectedOutputs) {
  const std::string path = ModelPath("mobilenet_v2_tiny");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set LATHE_SHARED";
  const auto model = reference::LoadModel(path);
  const auto data = reference::LoadDataSet(std::filesystem::path(path).parent_path().string() + "/test_data_set_0");
  ASSERT_TRUE(model.ok() && data.ok());
  const auto actual = RunNetwork(**model, data->inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(reference::CompareAll(*actual, data->outputs, {1e-3, 1.99e-4}).message(), "");
}

// Its scores, 32 KB with the softmax of them, are more than half of this cache; in a larger one they stay apart.
TEST(BertTiny, ComputesAttentionInOneKernelWhereItsScoresAreMany) {
  const std::string path = ModelPath("bert_tiny");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set LATHE_SHARED";
  const auto model = reference::LoadModel(path);
  const auto data = reference::LoadDataSet(std::filesystem::path(path).parent_path().string() + "/test_data_set_0");
  ASSERT_TRUE(model.ok() && data.ok());
  RunOptions options;
  options.target.cache_bytes = 16 << 10;
  const auto module = ImportAndOptimize(**model, options);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const std::string text = relax::Print(*module->FindFunction("main"));
  EXPECT_THAT(text, HasSubstr("cls.fused_transpose_matmul_divide_add_softmax_matmul, ("));
  EXPECT_THAT(text, testing::Not(HasSubstr("cls.softmax")));
  const auto actual = RunPlan(*module, data->inputs);
  ASSERT_TRUE(actual.ok()) << actual.status().ToString();
  EXPECT_EQ(reference::CompareAll(*actual, data->outputs, {1e-3, 1e-4}).message(), "");
  EXPECT_THAT(relax::Print(*ImportAndOptimize(**model)->FindFunction("main")), HasSubstr("cls.softmax"));
}

// The Relax text of a network names its parts as TVM does.
TEST(ResNet18, PrintsAsRelaxScript) {
  const auto module = ImportOnnxBytes(Serialized({.width = 0.125, .image = 32}), "resnet18");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const auto fused = relax::OptimizeForTuning(*module, 16);
  ASSERT_TRUE(fused.ok()) << fused.status().ToString();
  const std::string text = relax::Print(*fused->FindFunction("main"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "@R.function\ndef main(image: R.Tensor((1, 3, 32, 32), dtype=\"float32\")) -> R.Tensor((1, 1000), "
          "dtype=\"float32\"):\n    "
          "R.func_attr({\"input_names\": [\"image\"], \"output_names\": [\"logits\"]})\n    with R.dataflow():\n"));
  EXPECT_THAT(text, HasSubstr("R.call_tir(cls.fused_conv2d_add_relu, (image, metadata[\"relax.expr.Constant\"][0], "
                              "metadata[\"relax.expr.Constant\"][1]), "
                              "out_sinfo=R.Tensor((1, 1, 16, 16, 8), dtype=\"float32\"))"));
}

struct RefusedCase {
  const char* model;
  std::vector<const char*> says;
};
class TransformerTest : public testing::TestWithParam<RefusedCase> {};
TEST_P(TransformerTest, FailsWithOneErrorThatListsEverything) {
  const std::string path = ModelPath(GetParam().model);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set LATHE_SHARED";
  const auto module = ImportOnnx(path);
  EXPECT_EQ(module.code(), StatusCode::kInvalidArgument);
  for (const char* words : GetParam().says) EXPECT_THAT(module.status().message(), HasSubstr(words));
}
INSTANTIATE_TEST_SUITE_P(
    Shared, TransformerTest,
    testing::Values(
        RefusedCase{"bert_tiny_dyn",
                    {"input \"ids\" has unbound dimensions [batch, seq]: give its extents, e.g. --input-shape ids=1,1",
                     "input \"mask\" has"}},
        RefusedCase{"transformer_block_dyn", {"input \"x\" has unbound dimensions [batch, seq, 64]"}}),
    [](const auto& info) { return info.param.model; });

}  // namespace
}  // namespace lathe
