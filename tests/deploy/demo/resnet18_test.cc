#include "deploy/demo/resnet18.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "deploy/demo/test_image.h"
#include "support/digest.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe::demo {
namespace {

using reference::Dims;
using reference::Tensor;
using testing::HasSubstr;

constexpr ResNet18Options kSmall{.width = 0.25, .image = 64};

onnx::ModelProto BuildOrDie(const ResNet18Options& options) {
  StatusOr<onnx::ModelProto> model = BuildResNet18(options);
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  return *std::move(model);
}

const onnx::ModelProto& Published() {  // Built once: it takes a second.
  static const onnx::ModelProto model = BuildOrDie({});
  return model;
}

int CountNodes(const onnx::ModelProto& model, std::string_view op) {
  const auto& nodes = model.graph().node();
  return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.op_type() == op; }));
}

Dims DimsOf(const onnx::ModelProto& model, const std::string& initializer) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == initializer) return Dims(tensor.dims().begin(), tensor.dims().end());
  }
  return {};
}

std::vector<int64_t> Attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& a : node.attribute()) {
    if (a.name() == name) return {a.ints().begin(), a.ints().end()};
  }
  return {};
}

// Multiply-adds of convolutions and the classifier, from the attributes alone: sides follow the windows through the
// graph.
int64_t CountMultiplyAdds(const onnx::ModelProto& model, int64_t image) {
  std::map<std::string, int64_t> side = {{"image", image}};
  int64_t total = 0;
  for (const auto& node : model.graph().node()) {
    int64_t& out = side[node.output(0)];
    out = side[node.input(0)];
    if (node.op_type() == "Conv" || node.op_type() == "MaxPool") {
      out =
          (out + 2 * Attribute(node, "pads")[0] - Attribute(node, "kernel_shape")[0]) / Attribute(node, "strides")[0] +
          1;
    }
    if (node.op_type() == "Conv") total += out * out * reference::Product(DimsOf(model, node.input(1)));
    if (node.op_type() == "Gemm") total += reference::Product(DimsOf(model, node.input(1)));
  }
  return total;
}

// Weights that training would change: all but the running statistics.
int64_t CountParameters(const onnx::ModelProto& model) {
  int64_t total = 0;
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name().find("running_") == std::string::npos) total += reference::Product(DimsOf(model, tensor.name()));
  }
  return total;
}

Tensor ImageTensor(int64_t size, uint64_t seed) {
  const std::vector<float> image = MakeTestImage(size, Random(seed));
  return Tensor::Floats({1, 3, size, size}, {image.begin(), image.end()});
}

double StandardDeviation(const std::vector<double>& values) {
  double mean = 0, square = 0;
  for (double v : values) mean += v / static_cast<double>(values.size());
  for (double v : values) square += (v - mean) * (v - mean) / static_cast<double>(values.size());
  return std::sqrt(square);
}

// Evaluates several images: the logits of each are spread, and they do not all agree on the class.
void ExpectAliveAndVaried(const onnx::ModelProto& model, int64_t side, int images) {
  std::set<int64_t> classes;
  for (int i = 0; i < images; ++i) {
    const auto outputs = reference::Evaluate(model, {ImageTensor(side, 1000 + i)});
    ASSERT_TRUE(outputs.ok()) << outputs.status().ToString();
    const Tensor& logits = (*outputs)[0];
    ASSERT_EQ(logits.dims, (Dims{1, 1000}));
    for (double v : logits.floats) ASSERT_TRUE(std::isfinite(v));
    const double spread = StandardDeviation(logits.floats);
    EXPECT_GT(spread, 0.5);
    EXPECT_LT(spread, 10);
    classes.insert(std::max_element(logits.floats.begin(), logits.floats.end()) - logits.floats.begin());
  }
  EXPECT_GT(classes.size(), images / 2u);
}

TEST(ResNet18, HasThePublishedArchitecture) {
  const onnx::ModelProto& model = Published();
  EXPECT_EQ(CountNodes(model, "Conv"), 20);
  EXPECT_EQ(CountNodes(model, "BatchNormalization"), 20);
  EXPECT_EQ(CountNodes(model, "Relu"), 17);
  EXPECT_EQ(CountNodes(model, "Add"), 8);
  EXPECT_EQ(CountNodes(model, "MaxPool"), 1);
  EXPECT_EQ(CountNodes(model, "GlobalAveragePool"), 1);
  EXPECT_EQ(CountNodes(model, "Gemm"), 1);
  EXPECT_EQ(CountParameters(model), 11'689'512);
  EXPECT_EQ(CountMultiplyAdds(model, 224), 1'814'073'344);
  EXPECT_EQ(DimsOf(model, "layer4.0.downsample.0.weight"), (Dims{512, 256, 1, 1}));
  EXPECT_EQ(model.opset_import(0).version(), 13);
}

TEST(ResNet18, NamesNothingTwiceAndMakesEachValueBeforeItIsRead) {
  const onnx::ModelProto model = BuildOrDie(kSmall);
  std::set<std::string> values, nodes;
  for (const auto& input : model.graph().input()) EXPECT_TRUE(values.insert(input.name()).second) << input.name();
  for (const auto& tensor : model.graph().initializer())
    EXPECT_TRUE(values.insert(tensor.name()).second) << tensor.name();
  for (const auto& node : model.graph().node()) {
    EXPECT_TRUE(nodes.insert(node.name()).second) << node.name();
    for (const auto& input : node.input()) EXPECT_TRUE(values.contains(input)) << input;
    for (const auto& output : node.output()) EXPECT_TRUE(values.insert(output).second) << output;
  }
  for (const auto& output : model.graph().output()) EXPECT_TRUE(values.contains(output.name())) << output.name();
}

TEST(ResNet18, HasTheSameBytesForTheSameSeedOnly) {
  const std::string first = BuildOrDie(kSmall).SerializeAsString(), again = BuildOrDie(kSmall).SerializeAsString();
  EXPECT_EQ(Sha256(first).ToHex(), Sha256(again).ToHex());
  // Of every compiler, flag and machine; changes only with the generator itself.
  EXPECT_EQ(Sha256(first).ToHex(), "dbb48e867076b8965ad68dccac9c765a773628bc6c7922b8791b7050dee4ca9a");
  ResNet18Options other = kSmall;
  other.seed = 2;
  EXPECT_NE(BuildOrDie(other).SerializeAsString(), first);
}

TEST(ResNet18, CarriesStatisticsThatChangeWhatIsComputed) {
  const onnx::ModelProto model = BuildOrDie(kSmall);
  for (const auto& tensor : model.graph().initializer()) {
    const auto value = reference::FromProto(tensor);
    ASSERT_TRUE(value.ok());
    for (double v : value->floats) ASSERT_TRUE(std::isfinite(v)) << tensor.name();
    if (tensor.name().ends_with("running_var")) {
      EXPECT_GT(*std::min_element(value->floats.begin(), value->floats.end()), 0) << tensor.name();
    }
    if (tensor.name().find("running_") != std::string::npos) {
      EXPECT_GT(StandardDeviation(value->floats), 1e-3) << tensor.name();
    }
  }
}

TEST(ResNet18, GivesDifferentImagesDifferentClasses) { ExpectAliveAndVaried(BuildOrDie(kSmall), kSmall.image, 8); }
TEST(ResNet18, GivesDifferentImagesDifferentClassesWhenTiny) {
  ExpectAliveAndVaried(BuildOrDie({.width = 0.25, .image = 32}), 32, 8);
}
TEST(ResNet18, GivesDifferentImagesDifferentClassesAtPublishedSize) {
#ifdef LATHE_SANITIZE
  GTEST_SKIP() << "minutes under a sanitizer; the small networks run the same code";
#endif
  ExpectAliveAndVaried(Published(), 224, 4);
}

TEST(ResNet18, RefusesSizesThatMakeNoNetwork) {
  EXPECT_EQ(BuildResNet18({.width = 0}).status().message(),
            "build resnet18: width is 0, more than 0 and at most 4 required");
  EXPECT_EQ(BuildResNet18({.width = std::nan("")}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(BuildResNet18({.image = 8}).status().message(), "build resnet18: image is 8, 32 to 2048 required");
}

int RunProgram(const std::string& arguments) {
  return std::system((std::string(LATHE_BIN_DIR "/lathe-demo-model ") + arguments).c_str()) >> 8;
}

TEST(DemoModelProgram, WritesTheModelAndItsInput) {
  const std::string folder = testing::TempDir() + "/demo_model";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_EQ(RunProgram("resnet18 -o " + folder + "/model.onnx --width 0.25 --image 64 --with-data " + folder), 0);
  const auto model = reference::LoadModel(folder + "/model.onnx");
  ASSERT_TRUE(model.ok()) << model.status().ToString();
  EXPECT_EQ((*model)->SerializeAsString(), BuildOrDie(kSmall).SerializeAsString());
  const auto data = reference::LoadDataSet(folder + "/test_data_set_0");
  ASSERT_TRUE(data.ok()) << data.status().ToString();
  EXPECT_TRUE(reference::Evaluate(**model, data->inputs).ok());
}

TEST(DemoModelProgram, FailsOnAFolderThatDoesNotExistAndOnBadUsage) {
  EXPECT_EQ(RunProgram("resnet18 -o /nonexistent/model.onnx --width 0.1 --image 32 2>/dev/null"), 1);
  EXPECT_EQ(RunProgram("resnet18 2>/dev/null >&2"), 2);
  EXPECT_EQ(RunProgram("resnet18 -o /dev/null --width 9 2>/dev/null"), 2);
}

}  // namespace
}  // namespace lathe::demo
