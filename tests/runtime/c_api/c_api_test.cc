// The C API: what it describes, binds, runs and refuses; a program in C.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/lower.h"
#include "compiler/relax/executor_plan.h"
#include "deploy/demo/resnet18.h"
#include "include/lathe/runtime.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/runtime/c_api/c_program.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kImage = 32, kPixels = 3 * kImage * kImage, kClasses = 1000;

const onnx::ModelProto& Model() {
  static const onnx::ModelProto model = *demo::BuildResNet18({.width = 0.03125, .image = kImage});
  return model;
}

std::string CompileOrDie() {
  const StatusOr<relax::IRModule> module = ImportAndOptimize(Model());
  CHECK(module.ok()) << module.status().ToString();
  const relax::ExecutorPlan plan = *relax::MakeExecutorPlan(*module);
  std::vector<PrimFunc> kernels;
  for (const PrimFunc& func : module->prim_funcs) kernels.push_back(*Lower(func));
  const std::string graph = *relax::SerializeGraph(plan), constants = relax::SerializeConstants(plan);
  const std::vector<ArtifactSection> sections = {{".lathe.graph", graph}, {".lathe.const", constants}};
  const StatusOr<CompiledModule> compiled = CompileModule(kernels, sections, *Target::Parse("auto -num-cores=2"));
  CHECK(compiled.ok()) << compiled.status().ToString();
  return compiled->bytes;
}

const std::string& Bytes() {
  static const std::string bytes = CompileOrDie();
  return bytes;
}

const std::string& Path() {
  static const std::string path = [] {
    std::string name = testing::TempDir() + "/c_api_network.so";
    std::ofstream(name, std::ios::binary) << Bytes();
    return name;
  }();
  return path;
}

std::vector<float> Image(float phase = 0) {
  std::vector<float> image(kPixels);
  for (int i = 0; i < kPixels; ++i) image[i] = std::sin(static_cast<float>(i) * 0.37f + phase);
  return image;
}

// What the network must say of `image`, by the reference; the difference in words, "" if there is none.
std::string Difference(const std::vector<float>& image, const float* logits) {
  const auto expected =
      reference::Evaluate(Model(), {reference::Tensor::Floats({1, 3, kImage, kImage}, {image.begin(), image.end()})});
  if (!expected.ok()) return expected.status().ToString();
  const reference::Tensor actual = reference::Tensor::Floats({1, kClasses}, {logits, logits + kClasses});
  return std::string(reference::Compare("logits", actual, (*expected)[0], {1e-3, 1e-4}).message());
}

class CApiTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(network = LoadOrDie(1), nullptr); }
  void TearDown() override { lathe_network_free(network); }
  static LatheNetwork* LoadOrDie(int threads) {
    LatheNetwork* loaded = nullptr;
    EXPECT_EQ(lathe_network_load(Path().c_str(), threads, &loaded), LATHE_OK) << lathe_last_error();
    return loaded;
  }
  static void BindImage(LatheNetwork* network, std::vector<float>& image) {
    LatheTensor x;
    ASSERT_EQ(lathe_network_input(network, 0, &x), LATHE_OK);
    x.data = image.data();
    ASSERT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_OK) << lathe_last_error();
  }
  static const float* Logits(LatheNetwork* network) {
    LatheTensor y;
    EXPECT_EQ(lathe_network_output(network, 0, &y), LATHE_OK);
    return static_cast<const float*>(y.data);
  }
  LatheTensor Output(void* data) {
    LatheTensor y;
    EXPECT_EQ(lathe_network_output(network, 0, &y), LATHE_OK);
    y.data = data;
    return y;
  }

  LatheNetwork* network = nullptr;
  std::vector<float> image = Image();
};

TEST_F(CApiTest, ServesAProgramInC) {
  std::vector<float> logits(kClasses);
  const char* error = run_network_in_c(Path().c_str(), image.data(), logits.data(), kClasses);
  EXPECT_EQ(error, nullptr) << error;
  EXPECT_EQ(Difference(image, logits.data()), "");
  EXPECT_THAT(run_network_in_c("/nowhere.so", image.data(), logits.data(), kClasses),
              StartsWith("load /nowhere.so: open artifact /nowhere.so: No such file"));
}

TEST_F(CApiTest, DescribesInputsAndOutputs) {
  ASSERT_EQ(lathe_network_num_inputs(network), 1u);
  ASSERT_EQ(lathe_network_num_outputs(network), 1u);
  LatheTensor x, y;
  ASSERT_EQ(lathe_network_input(network, 0, &x), LATHE_OK);
  EXPECT_STREQ(x.name, "image");
  EXPECT_EQ(x.data, nullptr);
  EXPECT_EQ(std::vector<int64_t>(x.shape, x.shape + x.rank), (std::vector<int64_t>{1, 3, kImage, kImage}));
  EXPECT_EQ(lathe_tensor_bytes(&x), kPixels * sizeof(float));
  ASSERT_EQ(lathe_network_output(network, 0, &y), LATHE_OK);
  EXPECT_STREQ(y.name, "logits");
  EXPECT_EQ(y.data, nullptr);
  EXPECT_EQ(y.dtype.code, LATHE_DTYPE_FLOAT);
  EXPECT_EQ(y.dtype.bits, 32);
  EXPECT_EQ(lathe_network_input(network, 1, &x), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "input 1: the network has 1, counted from 0");
}

TEST_F(CApiTest, RunsAgainOnOtherInputs) {
  for (const float phase : {0.0f, 1.0f}) {
    image = Image(phase);
    BindImage(network, image);
    ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
    EXPECT_EQ(Difference(image, Logits(network)), "") << phase;
  }
}

// A program describes an output once, and binds by that description again and again.
TEST_F(CApiTest, DescriptionsOutliveRuns) {
  BindImage(network, image);
  LatheTensor before, after;
  ASSERT_EQ(lathe_network_output(network, 0, &before), LATHE_OK);
  ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
  ASSERT_EQ(lathe_network_output(network, 0, &after), LATHE_OK);
  EXPECT_EQ(after.shape, before.shape);
  ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
  EXPECT_EQ(std::vector<int64_t>(after.shape, after.shape + after.rank), (std::vector<int64_t>{1, kClasses}));
}

TEST_F(CApiTest, ReadsInputsWithStrides) {
  std::vector<float> channels_last(kPixels);
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < kImage * kImage; ++i) channels_last[i * 3 + c] = image[c * kImage * kImage + i];
  LatheTensor x;
  ASSERT_EQ(lathe_network_input(network, 0, &x), LATHE_OK);
  const int64_t strides[] = {kPixels, 1, 3 * kImage, 3};
  x.data = channels_last.data();
  x.strides = strides;
  ASSERT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_OK) << lathe_last_error();
  ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
  EXPECT_EQ(Difference(image, Logits(network)), "");
}

TEST_F(CApiTest, WritesToMemoryThatIsBoundWhateverItsAlignment) {
  BindImage(network, image);
  alignas(64) static float memory[kClasses + 1];
  for (const int shift : {0, 1}) {
    std::fill(std::begin(memory), std::end(memory), -1.0f);
    const LatheTensor y = Output(memory + shift);
    ASSERT_EQ(lathe_network_bind_output(network, 0, &y), LATHE_OK) << lathe_last_error();
    ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
    EXPECT_EQ(Difference(image, memory + shift), "") << shift;
    EXPECT_EQ(Logits(network), memory + shift);
    EXPECT_EQ(memory[shift == 0 ? kClasses : 0], -1.0f) << "written beside the output";
  }
  ASSERT_EQ(lathe_network_bind_output(network, 0, nullptr), LATHE_OK);
  ASSERT_EQ(lathe_network_run(network), LATHE_OK) << lathe_last_error();
  EXPECT_NE(Logits(network), memory + 1);
}

TEST_F(CApiTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(lathe_network_run(network), LATHE_FAILED_PRECONDITION);
  EXPECT_STREQ(lathe_last_error(), "run: input \"image\" is not bound; lathe_network_bind_input gives it memory");
  LatheTensor x;
  ASSERT_EQ(lathe_network_input(network, 0, &x), LATHE_OK);
  EXPECT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "bind input \"image\": data is NULL; give it memory");
  x.data = image.data();
  x.dtype.bits = 64;
  EXPECT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "bind input \"image\": float64, float32 required");
  x.dtype.bits = 32;
  x.rank = 3;
  EXPECT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "bind input \"image\": 3 dimensions, 4 required");
  const int64_t other[] = {1, 3, kImage, 1};
  x.rank = 4;
  x.shape = other;
  ASSERT_EQ(lathe_network_bind_input(network, 0, &x), LATHE_OK);
  EXPECT_EQ(lathe_network_run(network), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "run: input \"image\" is float32 [1, 3, 32, 1], float32 [1, 3, 32, 32] required");
}

TEST_F(CApiTest, RefusesAnOutputThatOverlapsAnInput) {
  BindImage(network, image);
  const LatheTensor y = Output(image.data() + kPixels - 1);
  ASSERT_EQ(lathe_network_bind_output(network, 0, &y), LATHE_OK);
  EXPECT_EQ(lathe_network_run(network), LATHE_INVALID_ARGUMENT);
  EXPECT_STREQ(lathe_last_error(), "run: output \"logits\" overlaps input \"image\"; give it memory of its own");
}

// The loader knows a library by its path, and the number of a descriptor is used again.
TEST_F(CApiTest, LoadsFromMemoryAgainAndAgain) {
  for (int round = 0; round < 2; ++round) {
    LatheNetwork *one = nullptr, *two = nullptr;
    ASSERT_EQ(lathe_network_load_memory(Bytes().data(), Bytes().size(), 1, &one), LATHE_OK) << lathe_last_error();
    ASSERT_EQ(lathe_network_load_memory(Bytes().data(), Bytes().size(), 1, &two), LATHE_OK) << lathe_last_error();
    for (LatheNetwork* loaded : {one, two}) {
      BindImage(loaded, image);
      ASSERT_EQ(lathe_network_run(loaded), LATHE_OK) << lathe_last_error();
      EXPECT_EQ(Difference(image, Logits(loaded)), "");
    }
    lathe_network_free(one);
    lathe_network_free(two);
  }
  LatheNetwork* none = network;
  EXPECT_EQ(lathe_network_load_memory(Bytes().data(), 1000, 1, &none), LATHE_DATA_LOSS);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(lathe_last_error(), StartsWith("load 1000 bytes of memory: "));
}

TEST_F(CApiTest, TakesTheThreadsThatAreAskedForOrThoseOfTheTarget) {
  for (const int threads : {0, 1, 3}) {
    LatheNetwork* loaded = LoadOrDie(threads);
    BindImage(loaded, image);
    ASSERT_EQ(lathe_network_run(loaded), LATHE_OK) << lathe_last_error();
    EXPECT_EQ(Difference(image, Logits(loaded)), "") << threads;
    lathe_network_free(loaded);
  }
  LatheNetwork* none = nullptr;
  EXPECT_EQ(lathe_network_load(Path().c_str(), -1, &none), LATHE_INVALID_ARGUMENT);
  EXPECT_THAT(lathe_last_error(), HasSubstr("-1 threads asked for; 1 or more, or 0 for what there is"));
}

TEST_F(CApiTest, NetworksAndErrorsOfThreadsAreTheirOwn) {
  std::vector<std::vector<float>> images = {Image(0), Image(1), Image(2)};
  std::vector<std::string> differences(images.size()), errors(images.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < images.size(); ++i) {
    threads.emplace_back([&, i] {
      LatheNetwork* mine = LoadOrDie(1);
      BindImage(mine, images[i]);
      for (int run = 0; run < 3; ++run) EXPECT_EQ(lathe_network_run(mine), LATHE_OK);
      differences[i] = Difference(images[i], Logits(mine));
      LatheTensor none;
      EXPECT_EQ(lathe_network_input(mine, 10 + i, &none), LATHE_INVALID_ARGUMENT);
      errors[i] = lathe_last_error();
      lathe_network_free(mine);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(differences[i], "");
    EXPECT_THAT(errors[i], StartsWith("input " + std::to_string(10 + i) + ": "));
  }
}

}  // namespace
}  // namespace lathe
