#include "deploy/demo/resnet18.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "deploy/demo/feature_map.h"
#include "deploy/demo/test_image.h"
#include "support/random.h"
#include "support/status_macros.h"

namespace lathe::demo {
namespace {

constexpr int64_t kClasses = 1000;
constexpr int64_t kCalibrationSide =
    128;  // Of the crop that statistics are measured on: enough of them, in little time.
constexpr double kEpsilon = 1e-5;
constexpr double kLogitSpread = 2.5;  // Standard deviation of a class over images.

// A value of the graph, and what it is for the calibration images.
struct Value {
  std::string name;
  FeatureMap map;
};

// Near enough to normal, from sums alone: libm's logarithm may differ in the last bit from machine to machine.
double NearlyNormal(Random& random) {
  return (random.Unit() + random.Unit() + random.Unit() + random.Unit() - 2) * std::sqrt(3.0);
}

std::vector<float> DrawNormal(Random& random, int64_t count, double deviation) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(NearlyNormal(random) * deviation);
  return values;
}

std::vector<float> DrawUniform(Random& random, int64_t count, double low, double high) {
  std::vector<float> values(count);
  for (float& v : values) v = static_cast<float>(low + (high - low) * random.Unit());
  return values;
}

// Writes the graph layer by layer and runs each on the calibration batch, since a layer's statistics depend on all
// before it.
class Builder {
 public:
  Builder(const ResNet18Options& options, onnx::GraphProto& graph)
      : options_(options), random_(options.seed), graph_(graph) {}

  void Build() {
    Value x = Input();
    x = ConvNormalize(x, "conv1", "bn1", Channels(64), {7, 2, 3});
    x = Relu(std::move(x), "relu");
    x = Pool(x, "maxpool", {3, 2, 1});
    for (int stage = 0; stage < 4; ++stage) {
      for (int block = 0; block < 2; ++block) {
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        x = BasicBlock(x, fmt::format("layer{}.{}", stage + 1, block), Channels(int64_t{64} << stage), stride);
      }
    }
    Classify(x);
  }

 private:
  int64_t Channels(int64_t published) const {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(published) * options_.width + 0.5));
  }

  Value Input() {
    Declare(*graph_.add_input(), "image", {1, 3, options_.image, options_.image});
    const int64_t side = std::min(options_.image, kCalibrationSide), begin = (options_.image - side) / 2;
    Value x{"image", MakeFeatureMap(3, side, side)};
    for (int64_t n = 0; n < kBatch; ++n) {
      const std::vector<float> image = MakeTestImage(options_.image, random_.Fork());
      for (int64_t i = 0; i < 3 * side * side; ++i) {
        const int64_t colour = i / side / side, row = begin + i / side % side, column = begin + i % side;
        x.map.data[i][n] = image[(colour * options_.image + row) * options_.image + column];
      }
    }
    return x;
  }

  // Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes.
  Value BasicBlock(const Value& x, const std::string& name, int64_t channels, int64_t stride) {
    Value y = ConvNormalize(x, name + ".conv1", name + ".bn1", channels, {3, stride, 1});
    y = Relu(std::move(y), name + ".relu1");
    y = ConvNormalize(y, name + ".conv2", name + ".bn2", channels, {3, 1, 1});
    const bool same_shape = stride == 1 && channels == x.map.channels;
    const Value shortcut =
        same_shape ? x : ConvNormalize(x, name + ".downsample.0", name + ".downsample.1", channels, {1, stride, 0});
    Accumulate(y.map, shortcut.map);
    AddNode("Add", name + ".add", {y.name, shortcut.name});
    return Relu({name + ".add", std::move(y.map)}, name + ".relu2");
  }

  Value ConvNormalize(const Value& x, const std::string& conv, const std::string& norm, int64_t filters,
                      const WindowShape& window) {
    const int64_t k = window.kernel, depth = x.map.channels * k * k;
    const std::vector<float> weights =
        DrawNormal(random_, filters * depth, std::sqrt(2.0 / static_cast<double>(depth)));
    AddWeights(conv + ".weight", {filters, x.map.channels, k, k}, weights);
    onnx::NodeProto& node = AddNode("Conv", conv, {x.name, conv + ".weight"});
    AddWindow(node, window);
    AddInts(node, "dilations", {1, 1});
    AddInt(node, "group", 1);
    return NormalizeBatch({conv, Convolve(x.map, weights, filters, window)}, norm);
  }

  Value NormalizeBatch(Value x, const std::string& name) {
    const int64_t channels = x.map.channels;
    const std::vector<float> scale = DrawUniform(random_, channels, 0.5, 1.5),
                             bias = DrawNormal(random_, channels, 0.2);
    const ChannelStatistics statistics = MeasureChannels(x.map);
    AddWeights(name + ".weight", {channels}, scale);
    AddWeights(name + ".bias", {channels}, bias);
    AddWeights(name + ".running_mean", {channels}, statistics.mean);
    AddWeights(name + ".running_var", {channels}, statistics.variance);
    onnx::NodeProto& node =
        AddNode("BatchNormalization", name,
                {x.name, name + ".weight", name + ".bias", name + ".running_mean", name + ".running_var"});
    AddFloat(node, "epsilon", kEpsilon);
    AddFloat(node, "momentum", 0.9);
    Normalize(x.map, statistics, scale, bias, kEpsilon);
    return {name, std::move(x.map)};
  }

  Value Relu(Value x, const std::string& name) {
    AddNode("Relu", name, {x.name});
    Rectify(x.map);
    return {name, std::move(x.map)};
  }

  Value Pool(const Value& x, const std::string& name, const WindowShape& window) {
    AddWindow(AddNode("MaxPool", name, {x.name}), window);
    return {name, MaxPool(x.map, window)};
  }

  // The bias takes the mean logit of each class away and the weights are scaled to the features' spread: so the class
  // depends on the image, not on the weights' chance.
  void Classify(const Value& x) {
    AddNode("GlobalAveragePool", "avgpool", {x.name});
    AddInt(AddNode("Flatten", "flatten", {"avgpool"}), "axis", 1);
    const std::vector<Batch> features = AverageChannels(x.map);
    const int64_t depth = static_cast<int64_t>(features.size());
    std::vector<double> centre(depth, 0.0);
    double spread = 0;  // Mean squared distance from the centre.
    for (int64_t c = 0; c < depth; ++c) {
      for (double v : features[c]) centre[c] += v / kBatch;
      for (double v : features[c]) spread += (v - centre[c]) * (v - centre[c]) / kBatch;
    }
    const std::vector<float> weights =
        DrawNormal(random_, kClasses * depth, kLogitSpread / std::sqrt(spread + kEpsilon));
    std::vector<float> bias = DrawNormal(random_, kClasses, 0.1);
    for (int64_t k = 0; k < kClasses; ++k) {
      double mean = 0;
      for (int64_t c = 0; c < depth; ++c) mean += weights[k * depth + c] * centre[c];
      bias[k] = static_cast<float>(bias[k] - mean);
    }
    AddWeights("fc.weight", {kClasses, depth}, weights);
    AddWeights("fc.bias", {kClasses}, bias);
    onnx::NodeProto& node = AddNode("Gemm", "fc", {"flatten", "fc.weight", "fc.bias"}, "logits");
    AddFloat(node, "alpha", 1);
    AddFloat(node, "beta", 1);
    AddInt(node, "transB", 1);
    Declare(*graph_.add_output(), "logits", {1, kClasses});
  }

  // A node and its output share a name, unless `output` says otherwise.
  onnx::NodeProto& AddNode(const char* op, const std::string& name, const std::vector<std::string>& inputs,
                           const std::string& output = "") {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output.empty() ? name : output);
    return node;
  }

  void AddWeights(const std::string& name, const std::vector<int64_t>& dims, const std::vector<float>& values) {
    static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) tensor.add_dims(dim);
    tensor.mutable_raw_data()->resize(values.size() * sizeof(float));
    std::memcpy(tensor.mutable_raw_data()->data(), values.data(), values.size() * sizeof(float));
  }

  static void Declare(onnx::ValueInfoProto& info, const char* name, const std::vector<int64_t>& dims) {
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int64_t dim : dims) type->mutable_shape()->add_dim()->set_dim_value(dim);
  }

  static onnx::AttributeProto& AddAttribute(onnx::NodeProto& node, const char* name,
                                            onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  static void AddInt(onnx::NodeProto& node, const char* name, int64_t value) {
    AddAttribute(node, name, onnx::AttributeProto::INT).set_i(value);
  }
  static void AddFloat(onnx::NodeProto& node, const char* name, double value) {
    AddAttribute(node, name, onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
  }
  static void AddInts(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
    onnx::AttributeProto& attribute = AddAttribute(node, name, onnx::AttributeProto::INTS);
    for (int64_t v : values) attribute.add_ints(v);
  }
  static void AddWindow(onnx::NodeProto& node, const WindowShape& w) {
    AddInts(node, "kernel_shape", {w.kernel, w.kernel});
    AddInts(node, "strides", {w.stride, w.stride});
    AddInts(node, "pads", {w.pad, w.pad, w.pad, w.pad});
  }

  const ResNet18Options options_;
  Random random_;
  onnx::GraphProto& graph_;
};

}  // namespace

StatusOr<onnx::ModelProto> BuildResNet18(const ResNet18Options& options) {
  if (!(options.width > 0 && options.width <= 4)) {
    return InvalidArgument(
        fmt::format("build resnet18: width is {}, more than 0 and at most 4 required", options.width));
  }
  if (options.image < 32 || options.image > 2048) {
    return InvalidArgument(fmt::format("build resnet18: image is {}, 32 to 2048 required", options.image));
  }
  onnx::ModelProto model;
  model.set_ir_version(7);
  model.set_producer_name("lathe-demo-model");
  model.set_doc_string("ResNet-18 with seeded weights; not trained");
  model.add_opset_import()->set_version(13);
  model.mutable_graph()->set_name("resnet18");
  Builder(options, *model.mutable_graph()).Build();
  return model;
}

}  // namespace lathe::demo
