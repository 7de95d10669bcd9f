// A network compiled to machine code and run by the static executor; damaged graphs.
#include "runtime/executor.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <cstring>
#include <fstream>

#include "compiler/codegen/llvm/compile_module.h"
#include "compiler/lower.h"
#include "compiler/relax/executor_plan.h"
#include "deploy/demo/resnet18.h"
#include "support/random.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/compiler/import/onnx/slice_network.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"

namespace lathe {
namespace {

using testing::HasSubstr;

const onnx::ModelProto& Model() {
  static const onnx::ModelProto model = *demo::BuildResNet18({.width = 0.125, .image = 32});
  return model;
}

struct Compiled {
  relax::ExecutorPlan plan;
  std::string graph, constants;
  std::vector<PrimFunc> kernels;
};

Compiled CompileOrDie(const onnx::ModelProto& model) {
  const StatusOr<relax::IRModule> module = ImportAndOptimize(model);
  CHECK(module.ok()) << module.status().ToString();
  Compiled result{*relax::MakeExecutorPlan(*module), "", "", {}};
  result.graph = *relax::SerializeGraph(result.plan);
  result.constants = relax::SerializeConstants(result.plan);
  for (const PrimFunc& func : module->prim_funcs) {
    const StatusOr<PrimFunc> lowered = Lower(func);
    CHECK(lowered.ok()) << func.name << ": " << lowered.status().ToString();
    result.kernels.push_back(*lowered);
  }
  return result;
}

const Compiled& Plan() {
  static const Compiled compiled = CompileOrDie(Model());
  return compiled;
}

std::string WriteArtifact(const std::string& name, const std::vector<ArtifactSection>& sections,
                          const std::vector<PrimFunc>& kernels = Plan().kernels) {
  const StatusOr<CompiledModule> module = CompileModule(kernels, sections, *Target::Parse("auto"));
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << module->bytes;
  return path;
}

const std::string& ArtifactPath() {
  static const std::string path =
      WriteArtifact("resnet18.so", {{".lathe.graph", Plan().graph}, {".lathe.const", Plan().constants}});
  return path;
}

ThreadPool& Pool() {
  static const std::unique_ptr<ThreadPool> pool = *ThreadPool::Create(1);
  return *pool;
}

NDArray Image() {
  NDArray image = *NDArray::Create(kFloat32, {1, 3, 32, 32});
  for (size_t i = 0; i < image.as<float>().size(); ++i) image.as<float>()[i] = std::sin(static_cast<float>(i) * 0.37f);
  return image;
}

TEST(Executor, RunsANetworkAsTheReferenceDoes) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  ASSERT_EQ(executor->inputs().size(), 1u);
  EXPECT_EQ(executor->inputs()[0].name, "image");
  EXPECT_EQ(executor->outputs()[0].name, "logits");
  EXPECT_EQ(executor->outputs()[0].ConstantShape(), (std::vector<int64_t>{1, 1000}));
  const NDArray image = Image();
  const std::vector<double> pixels(image.as<float>().begin(), image.as<float>().end());
  const auto expected = reference::Evaluate(Model(), {reference::Tensor::Floats({1, 3, 32, 32}, pixels)});
  ASSERT_TRUE(expected.ok());
  const std::vector<TensorView> inputs = {image.view()};
  std::vector<KernelTime> times;
  for (int run = 0; run < 2; ++run) {  // The second run finds the first one's values in the arena.
    const auto outputs = executor->Run(inputs, &times);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    const std::vector<double> values((*outputs)[0].as<float>().begin(), (*outputs)[0].as<float>().end());
    EXPECT_EQ(reference::Compare("logits", reference::Tensor::Floats({1, 1000}, values), (*expected)[0], {1e-3, 1e-4})
                  .message(),
              "");
  }
  ASSERT_EQ(times.size(), Plan().plan.calls.size());
  EXPECT_EQ(*times[0].kernel, Plan().plan.calls[0].kernel);
}

// Kernel ABI 1, metadata and graph layout 1 (tests/fixtures/README.md).
TEST(Executor, RunsTheNetworkOfAnEarlierRelease) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "the file holds code for x86-64";
#endif
  RuntimeResult<Executor> executor = Executor::Load(LATHE_SOURCE_DIR "/tests/fixtures/fb8abfd/resnet18.so", Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const onnx::ModelProto model = *demo::BuildResNet18({.width = 0.03125, .image = 32});
  const NDArray image = Image();
  const std::vector<double> pixels(image.as<float>().begin(), image.as<float>().end());
  const auto expected = reference::Evaluate(model, {reference::Tensor::Floats({1, 3, 32, 32}, pixels)});
  ASSERT_TRUE(expected.ok());
  const auto outputs = executor->Run(std::vector<TensorView>{image.view()});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const std::vector<double> values((*outputs)[0].as<float>().begin(), (*outputs)[0].as<float>().end());
  EXPECT_EQ(reference::Compare("logits", reference::Tensor::Floats({1, 1000}, values), (*expected)[0], {1e-3, 1e-4})
                .message(),
            "");
}

// Slices of arena, inputs and outputs by machine code.
TEST(Executor, RunsConcatenationsThatCopyNothing) {
  constexpr uint64_t kSeed = 77;
  for (uint64_t round = 0; round < 6; ++round) {
    Random random(Random::Mix(kSeed + round));
    const onnx::ModelProto model = RandomSliceNetwork(random);
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    const Compiled compiled = CompileOrDie(model);
    const std::string path = WriteArtifact(
        "slices.so", {{".lathe.graph", compiled.graph}, {".lathe.const", compiled.constants}}, compiled.kernels);
    RuntimeResult<Executor> executor = Executor::Load(path, Pool());
    ASSERT_TRUE(executor.ok()) << executor.error().message;
    const NDArray image = *NDArray::Create(kFloat32, *executor->inputs()[0].ConstantShape());
    for (float& pixel : image.as<float>()) pixel = static_cast<float>(random.Unit() - 0.5);
    const std::vector<double> pixels(image.as<float>().begin(), image.as<float>().end());
    const auto expected = reference::Evaluate(model, {reference::Tensor::Floats(image.shape(), pixels)});
    const auto actual = executor->Run(std::vector<TensorView>{image.view()});
    ASSERT_TRUE(expected.ok() && actual.ok());
    std::vector<reference::Tensor> outputs;
    for (const NDArray& output : *actual) {
      const std::vector<double> values(output.as<float>().begin(), output.as<float>().end());
      outputs.push_back(reference::Tensor::Floats(output.shape(), values));
    }
    EXPECT_EQ(reference::CompareAll(outputs, *expected, {1e-4, 1e-5}).message(), "");
  }
}

TEST(Executor, ReadsUnalignedInputs) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const NDArray image = Image();
  std::vector<float> shifted(image.as<float>().size() + 1);
  std::copy(image.as<float>().begin(), image.as<float>().end(), shifted.begin() + 1);
  const std::vector<TensorView> aligned = {image.view()}, unaligned = {{shifted.data() + 1, kFloat32, image.shape()}};
  const auto a = executor->Run(aligned), b = executor->Run(unaligned);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(std::memcmp((*a)[0].data(), (*b)[0].data(), static_cast<size_t>((*a)[0].size_bytes())), 0);
}

// A result's memory serves again once nobody has an array of it; until then it stays as it is.
TEST(Executor, TakesMemoryOfResultsThatNobodyHasAnyMore) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const NDArray image = Image();
  const std::vector<TensorView> inputs = {image.view()};
  auto first = executor->Run(inputs), second = executor->Run(inputs), third = executor->Run(inputs);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  const void *a = (*first)[0].data(), *b = (*second)[0].data(), *c = (*third)[0].data();
  EXPECT_TRUE(a != b && b != c && a != c);
  *second = {};
  const auto fourth = executor->Run(inputs);
  ASSERT_TRUE(fourth.ok());
  EXPECT_EQ((*fourth)[0].data(), b);
}

TEST(Executor, WritesToMemoryOfTheCallers) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const NDArray image = Image(), aligned = *NDArray::Create(kFloat32, {1, 1000});
  std::vector<float> shifted(1001, -1.0f);
  const std::vector<TensorView> inputs = {image.view()};
  const auto expected = executor->Run(inputs);
  ASSERT_TRUE(expected.ok());
  const std::vector<TensorView> views = {aligned.view(), {shifted.data() + 1, kFloat32, aligned.shape()}};
  for (const TensorView& view : views) {
    const auto outputs = executor->RunInto(inputs, std::vector<TensorView>{view});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_EQ((*outputs)[0].data(), view.data);
    EXPECT_EQ(std::memcmp(view.data, (*expected)[0].data(), 1000 * sizeof(float)), 0);
  }
  EXPECT_EQ(shifted[0], -1.0f);
}

TEST(Executor, RefusesMemoryForOutputsThatItCannotUse) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  const NDArray image = Image(), small = *NDArray::Create(kFloat32, {1, 10});
  const std::vector<TensorView> inputs = {image.view()};
  const auto message = [&](const TensorView& output) {
    return executor->RunInto(inputs, std::vector<TensorView>{output}).error().message;
  };
  EXPECT_EQ(message(small.view()), "run: output \"logits\" is float32 [1, 10], float32 [1, 1000] required");
  const std::vector<int64_t> shape = {1, 1000}, strides = {1000, 1};
  EXPECT_EQ(message({small.data(), kFloat32, shape, strides}),
            "run: output \"logits\" has strides or an offset; give compact memory");
  float* last = image.as<float>().data() + image.num_elements() - 1;
  EXPECT_EQ(message({last, kFloat32, shape}),
            "run: output \"logits\" overlaps input \"image\"; give it memory of its own");
  EXPECT_EQ(executor->RunInto(inputs, {}).error().message, "run: 0 outputs given, 1 required");
}

TEST(Executor, RefusesWrongInputs) {
  RuntimeResult<Executor> executor = Executor::Load(ArtifactPath(), Pool());
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  EXPECT_EQ(executor->Run({}).error().message, "run: 0 inputs given, 1 required");
  const NDArray small = *NDArray::Create(kFloat32, {1, 3, 8, 8});
  const std::vector<TensorView> inputs = {small.view()};
  EXPECT_EQ(executor->Run(inputs).error().message,
            "run: input \"image\" is float32 [1, 3, 8, 8], float32 [1, 3, 32, 32] required");
}

TEST(Executor, RefusesArtifactsWithoutGraphOrWithTooFewConstants) {
  EXPECT_THAT(Executor::Load(WriteArtifact("no_graph.so", {}), Pool()).error().message,
              HasSubstr("no section .lathe.graph"));
  const std::string half = Plan().constants.substr(0, Plan().constants.size() / 2);
  EXPECT_THAT(Executor::Load(WriteArtifact("half.so", {{".lathe.graph", Plan().graph}, {".lathe.const", half}}), Pool())
                  .error()
                  .message,
              HasSubstr(".lathe.const has " + std::to_string(half.size()) + " bytes"));
}

TEST(Executor, RefusesACallThatDoesNotFitItsKernel) {
  relax::ExecutorPlan plan = Plan().plan;
  std::swap(plan.calls[0].args[0], plan.calls[0].args[1]);
  const std::string graph = *relax::SerializeGraph(plan);
  EXPECT_THAT(
      Executor::Load(WriteArtifact("swapped.so", {{".lathe.graph", graph}, {".lathe.const", Plan().constants}}), Pool())
          .error()
          .message,
      HasSubstr("call fused_conv2d_add_relu: "));
}

std::span<const std::byte> AsBytes(const std::string& text) { return std::as_bytes(std::span(text)); }

void ExpectInside(const Graph& graph) {
  for (const GraphValue& value : graph.values) {
    const RuntimeResult<PlacedValue> placed = PlaceValue(value, std::vector<int64_t>(graph.symbols.size(), 3));
    const uint64_t bytes = placed.ok() ? placed->bytes : 0;
    switch (value.storage) {
      case LATHE_STORAGE_ARENA:
        EXPECT_LE(value.place, graph.arena_bytes);
        if (graph.symbols.empty()) {
          EXPECT_LE(value.place + bytes, graph.arena_bytes);
        }
        break;
      case LATHE_STORAGE_CONSTANT:
        EXPECT_LE(value.place + bytes, graph.constant_bytes);
        break;
      case LATHE_STORAGE_INPUT:
        EXPECT_LT(value.place, graph.inputs.size());
        break;
      case LATHE_STORAGE_OUTPUT:
        EXPECT_LT(value.place, graph.outputs.size());
        break;
      case LATHE_STORAGE_STATE:
        EXPECT_LT(value.place, graph.states.size());
        break;
      case LATHE_STORAGE_SIZED:
        EXPECT_LT(value.place, graph.num_sized);
        break;
    }
  }
  for (const GraphCall& call : graph.calls) {
    for (const GraphArg& arg : call.args) EXPECT_TRUE(arg.is_scalar || arg.value < graph.values.size());
  }
}

TEST(Graph, DecodesWhatThePlanSays) {
  const RuntimeResult<Graph> graph = DecodeGraph(AsBytes(Plan().graph));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const relax::ExecutorPlan& plan = Plan().plan;
  ASSERT_EQ(graph->calls.size(), plan.calls.size());
  for (size_t i = 0; i < plan.calls.size(); ++i) {
    EXPECT_EQ(graph->calls[i].kernel, plan.calls[i].kernel);
    std::vector<uint32_t> args;
    for (const GraphArg& arg : graph->calls[i].args) args.push_back(arg.value);
    EXPECT_EQ(args, plan.calls[i].args);
  }
  ASSERT_EQ(graph->values.size(), plan.values.size());
  for (size_t i = 0; i < plan.values.size(); ++i) {
    EXPECT_EQ(PlaceValue(graph->values[i], {})->shape, plan.values[i].constant_shape());
    EXPECT_EQ(static_cast<int64_t>(graph->values[i].place), plan.values[i].place);
  }
}

TEST(Graph, RefusesOtherVersionsAndTruncation) {
  std::string bytes = Plan().graph;
  const uint32_t version = 9;
  std::memcpy(bytes.data() + offsetof(LatheGraphHeader, version), &version, sizeof(version));
  EXPECT_EQ(
      DecodeGraph(AsBytes(bytes)).error().message,
      "decode .lathe.graph: layout version 9, this program reads 1 to 2; build the artifact again with this release");
  for (size_t size = 0; size < Plan().graph.size(); size += 97)
    EXPECT_FALSE(DecodeGraph(AsBytes(Plan().graph).first(size)).ok()) << size;
}

TEST(Graph, KeepsDamagedSectionsInBounds) {
  constexpr uint64_t kSeed = 4242;
  int decoded = 0;
  for (uint64_t round = 0; round < 3000; ++round) {
    Random random(Random::Mix(kSeed + round));
    std::vector<std::byte> bytes(AsBytes(Plan().graph).begin(), AsBytes(Plan().graph).end());
    for (uint64_t k = 1 + random.Below(4); k > 0; --k)
      bytes[random.Below(bytes.size())] = static_cast<std::byte>(random.Next());
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    const RuntimeResult<Graph> graph = DecodeGraph(bytes);
    EXPECT_EQ(graph.ok(), graph.error().message.empty());
    if (graph.ok()) ExpectInside(*graph);
    decoded += graph.ok() ? 1 : 0;
  }
  EXPECT_GT(decoded, 0);
  EXPECT_LT(decoded, 3000);
}

}  // namespace
}  // namespace lathe
