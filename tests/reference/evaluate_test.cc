// What ONNX's node tests do not cover: old operator sets, groups and dilations, bad models.
#include "tests/reference/evaluate.h"

#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <fstream>

#include "support/random.h"
#include "tests/reference/compare.h"

namespace lathe::reference {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A one-node model whose inputs are x0, x1, ... and whose outputs are y0, y1, ...
class OneNode {
 public:
  OneNode(std::string op, int64_t opset, int inputs = 1, int outputs = 1) {
    model_.set_ir_version(7);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("g");
    node_ = model_.mutable_graph()->add_node();
    node_->set_op_type(op);
    node_->set_name("n");
    for (int i = 0; i < inputs; ++i) {
      node_->add_input("x" + std::to_string(i));
      model_.mutable_graph()->add_input()->set_name("x" + std::to_string(i));
    }
    for (int i = 0; i < outputs; ++i) {
      node_->add_output("y" + std::to_string(i));
      model_.mutable_graph()->add_output()->set_name("y" + std::to_string(i));
    }
  }
  OneNode& Int(const char* name, int64_t value) {
    Add(name, onnx::AttributeProto::INT)->set_i(value);
    return *this;
  }
  OneNode& Float(const char* name, float value) {
    Add(name, onnx::AttributeProto::FLOAT)->set_f(value);
    return *this;
  }
  OneNode& String(const char* name, const char* value) {
    Add(name, onnx::AttributeProto::STRING)->set_s(value);
    return *this;
  }
  OneNode& Ints(const char* name, const Dims& values) {
    auto* attribute = Add(name, onnx::AttributeProto::INTS);
    for (int64_t v : values) attribute->add_ints(v);
    return *this;
  }
  StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& inputs) const { return Evaluate(model_, inputs); }
  // The first output, or a tensor that no test expects.
  Tensor Value(const std::vector<Tensor>& inputs) const {
    const auto outputs = Run(inputs);
    EXPECT_TRUE(outputs.ok()) << outputs.status().ToString();
    return outputs.ok() ? (*outputs)[0] : Tensor::Floats({1}, {std::nan("")});
  }
  std::string Error(const std::vector<Tensor>& inputs) const { return Run(inputs).status().message(); }
  onnx::ModelProto& model() { return model_; }

 private:
  onnx::AttributeProto* Add(const char* name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }
  onnx::ModelProto model_;
  onnx::NodeProto* node_;
};

Tensor RandomTensor(Dims dims, Random& random) {
  Tensor tensor = Tensor::Zeros(std::move(dims), DataType::kFloat32);
  for (double& v : tensor.floats) v = random.Unit() * 2 - 1;
  return tensor;
}

Tensor Sequence(Dims dims) {
  Tensor tensor = Tensor::Zeros(std::move(dims), DataType::kFloat32);
  for (size_t i = 0; i < tensor.floats.size(); ++i) tensor.floats[i] = static_cast<double>(i);
  return tensor;
}

struct ConvCase {
  const char* name;
  int64_t channels, filters, groups, height, width, kernel_h, kernel_w, stride, dilation;
  Dims pads;
};

// The definition, element by element.
Tensor ConvByDefinition(const ConvCase& c, const Tensor& x, const Tensor& w, const Tensor& bias) {
  const int64_t oh = (c.height + c.pads[0] + c.pads[2] - (c.kernel_h - 1) * c.dilation - 1) / c.stride + 1;
  const int64_t ow = (c.width + c.pads[1] + c.pads[3] - (c.kernel_w - 1) * c.dilation - 1) / c.stride + 1;
  const int64_t in_group = c.channels / c.groups, out_group = c.filters / c.groups;
  Tensor y = Tensor::Zeros({x.dims[0], c.filters, oh, ow}, DataType::kFloat32);
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t col = i % ow, row = i / ow % oh, m = i / ow / oh % c.filters, n = i / ow / oh / c.filters;
    double sum = bias.floats[m];
    for (int64_t k = 0; k < in_group * c.kernel_h * c.kernel_w; ++k) {
      const int64_t kw = k % c.kernel_w, kh = k / c.kernel_w % c.kernel_h, ch = k / c.kernel_w / c.kernel_h;
      const int64_t h = row * c.stride - c.pads[0] + kh * c.dilation, v = col * c.stride - c.pads[1] + kw * c.dilation;
      if (h < 0 || h >= c.height || v < 0 || v >= c.width) continue;
      sum += w.floats[m * in_group * c.kernel_h * c.kernel_w + k] *
             x.floats[((n * c.channels + m / out_group * in_group + ch) * c.height + h) * c.width + v];
    }
    y.floats[i] = sum;
  }
  return y;
}

class ConvTest : public testing::TestWithParam<ConvCase> {};

TEST_P(ConvTest, MatchesTheDefinition) {
  const ConvCase& c = GetParam();
  Random random(7);
  const Tensor x = RandomTensor({2, c.channels, c.height, c.width}, random);
  const Tensor w = RandomTensor({c.filters, c.channels / c.groups, c.kernel_h, c.kernel_w}, random);
  const Tensor bias = RandomTensor({c.filters}, random);
  OneNode conv("Conv", 11, 3);
  conv.Int("group", c.groups)
      .Ints("strides", {c.stride, c.stride})
      .Ints("dilations", {c.dilation, c.dilation})
      .Ints("pads", c.pads);
  EXPECT_EQ(Compare("y", conv.Value({x, w, bias}), ConvByDefinition(c, x, w, bias), {1e-12, 1e-12}), OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvTest,
                         testing::Values(ConvCase{"Pointwise", 5, 7, 1, 6, 9, 1, 1, 1, 1, {0, 0, 0, 0}},
                                         ConvCase{"AsymmetricPads", 3, 8, 1, 11, 13, 3, 5, 1, 1, {2, 0, 1, 3}},
                                         ConvCase{"Strided", 3, 6, 1, 17, 12, 7, 7, 2, 1, {3, 3, 3, 3}},
                                         ConvCase{"Dilated", 4, 5, 1, 15, 14, 3, 3, 2, 3, {3, 3, 3, 3}},
                                         ConvCase{"Grouped", 12, 20, 4, 8, 8, 3, 3, 1, 1, {1, 1, 1, 1}},
                                         ConvCase{"Depthwise", 6, 6, 6, 9, 9, 3, 3, 2, 1, {1, 1, 1, 1}},
                                         ConvCase{"DepthwiseWithMultiplier", 3, 9, 3, 9, 9, 3, 3, 1, 1, {1, 1, 1, 1}}),
                         [](const auto& info) { return info.param.name; });

TEST(Conv, PutsTheOddPaddingElementOfSameUpperAtTheEndAndOfSameLowerAtTheBegin) {
  const Tensor x = Sequence({1, 1, 4}), w = Tensor::Floats({1, 1, 2}, {1, 10});
  EXPECT_THAT(OneNode("Conv", 11, 2).String("auto_pad", "SAME_UPPER").Value({x, w}).floats, ElementsAre(10, 21, 32, 3));
  EXPECT_THAT(OneNode("Conv", 11, 2).String("auto_pad", "SAME_LOWER").Value({x, w}).floats, ElementsAre(0, 10, 21, 32));
  EXPECT_THAT(OneNode("Conv", 11, 2).String("auto_pad", "VALID").Value({x, w}).floats, ElementsAre(10, 21, 32));
}

TEST(Conv, RefusesChannelsThatDoNotFitTheGroups) {
  EXPECT_EQ(OneNode("Conv", 11, 2).Int("group", 2).Error({Sequence({1, 3, 5, 5}), Sequence({4, 2, 3, 3})}),
            "evaluate graph \"g\": Conv \"n\": x is [1, 3, 5, 5], w is [4, 2, 3, 3], group is 2: x [N, C, ...], w [M, "
            "C / group, ...] "
            "with M % group = 0 required");
}

TEST(MaxPool, PadsWithLessThanAnyNumber) {
  const Tensor x = Tensor::Floats({1, 1, 3}, {-5, -7, -6});
  EXPECT_THAT(OneNode("MaxPool", 11).Ints("kernel_shape", {3}).Ints("pads", {2, 2}).Value({x}).floats,
              ElementsAre(-5, -5, -5, -6, -6));
}

TEST(MaxPool, DropsTheCeilModeWindowThatStartsInTheEndPadding) {
  OneNode pool("MaxPool", 11);
  pool.Ints("kernel_shape", {1}).Ints("strides", {2}).Ints("pads", {0, 0}).Int("ceil_mode", 1);
  EXPECT_THAT(pool.Value({Sequence({1, 1, 2})}).floats, ElementsAre(0));
}

TEST(AveragePool, NeverCountsTheOverhangOfCeilMode) {
  OneNode pool("AveragePool", 11);
  pool.Ints("kernel_shape", {3})
      .Ints("strides", {2})
      .Ints("pads", {1, 0})
      .Int("ceil_mode", 1)
      .Int("count_include_pad", 1);
  // Windows (pad 0 1) / 3, (1 2 3) / 3, (3 4 overhang) / 2.
  EXPECT_THAT(pool.Value({Sequence({1, 1, 5})}).floats, ElementsAre(testing::DoubleNear(1.0 / 3, 1e-12), 2, 3.5));
}

TEST(Softmax, NormalisesAllAxesFromTheAxisOnBeforeOpset13) {
  const Tensor x = Tensor::Floats({1, 2, 2}, {0, 0, 0, 0});
  EXPECT_THAT(OneNode("Softmax", 11).Value({x}).floats, ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_THAT(OneNode("Softmax", 13).Value({x}).floats, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(Add, AlignsTheOldBroadcastAtTheAxis) {
  const Tensor x = Sequence({1, 2, 2}), b = Tensor::Floats({2}, {10, 20});
  EXPECT_THAT(OneNode("Add", 6, 2).Int("broadcast", 1).Int("axis", 1).Value({x, b}).floats,
              ElementsAre(10, 11, 22, 23));
  EXPECT_THAT(OneNode("Add", 6, 2).Int("broadcast", 1).Value({x, b}).floats, ElementsAre(10, 21, 12, 23));
  EXPECT_THAT(OneNode("Add", 6, 2).Error({x, b}), HasSubstr("float32 [1, 2, 2] and float32 [2] without broadcast = 1"));
}

TEST(Add, KeepsLargeInt64Exact) {
  const int64_t large = (int64_t{1} << 62) + 1;
  EXPECT_THAT(OneNode("Add", 13, 2).Value({Tensor::Ints({1}, {large}), Tensor::Ints({1}, {2})}).ints,
              ElementsAre(large + 2));
}

TEST(Div, TruncatesIntegersTowardZeroAndRefusesZero) {
  const Tensor x = Tensor::Ints({2}, {-7, 7});
  EXPECT_THAT(OneNode("Div", 13, 2).Value({x, Tensor::Ints({1}, {2})}).ints, ElementsAre(-3, 3));
  EXPECT_THAT(OneNode("Div", 13, 2).Error({x, Tensor::Ints({1}, {0})}), HasSubstr("integer division by zero"));
}

TEST(Clip, TakesAttributesBeforeOpset11AndInputsSince) {
  const Tensor x = Tensor::Floats({3}, {-1, 3, 9});
  EXPECT_THAT(OneNode("Clip", 6).Float("min", 0).Float("max", 6).Value({x}).floats, ElementsAre(0, 3, 6));
  EXPECT_THAT(OneNode("Clip", 11, 3).Value({x, Tensor::Floats({}, {0}), Tensor::Floats({}, {6})}).floats,
              ElementsAre(0, 3, 6));
}

TEST(Gemm, BroadcastsABiasColumn) {
  const Tensor a = Sequence({2, 2}), b = Tensor::Floats({2, 2}, {1, 0, 0, 1}), c = Tensor::Floats({2, 1}, {10, 20});
  EXPECT_THAT(OneNode("Gemm", 11, 3).Float("beta", 2).Value({a, b, c}).floats, ElementsAre(20, 21, 42, 43));
}

TEST(BatchNormalization, UsesTheGivenStatistics) {
  OneNode bn("BatchNormalization", 9, 5);
  const Tensor x = Tensor::Floats({1, 2, 1}, {3, 3}), scale = Tensor::Floats({2}, {2, 1}),
               bias = Tensor::Floats({2}, {1, 0});
  EXPECT_THAT(
      bn.Float("epsilon", 0).Value({x, scale, bias, Tensor::Floats({2}, {1, 2}), Tensor::Floats({2}, {4, 1})}).floats,
      ElementsAre(3, 1));
}

TEST(Pad, CropsWithNegativePadsAndTakesAttributesBeforeOpset11) {
  EXPECT_THAT(OneNode("Pad", 2).Ints("pads", {-1, 2}).Float("value", 7).Value({Sequence({3})}).floats,
              ElementsAre(1, 2, 7, 7));
  EXPECT_THAT(OneNode("Pad", 2).Ints("pads", {2, 2}).String("mode", "reflect").Value({Sequence({3})}).floats,
              ElementsAre(2, 1, 0, 1, 2, 1, 0));
}

TEST(Reshape, TakesAnAttributeBeforeOpset5) {
  EXPECT_EQ(OneNode("Reshape", 1).Ints("shape", {0, -1}).Value({Sequence({2, 3, 4})}).dims, (Dims{2, 12}));
}

TEST(Reshape, RefusesAShapeThatDoesNotFit) {
  EXPECT_THAT(OneNode("Reshape", 1).Ints("shape", {5, -1}).Error({Sequence({2, 3})}),
              HasSubstr("shape [5, -1] does not fit 6 elements of [2, 3]"));
}

TEST(ReduceMean, TakesAxesAsInputSinceOpset18) {
  EXPECT_THAT(OneNode("ReduceMean", 13).Ints("axes", {1}).Value({Sequence({2, 2})}).floats, ElementsAre(0.5, 2.5));
  EXPECT_THAT(OneNode("ReduceMean", 18, 2).Value({Sequence({2, 2}), Tensor::Ints({1}, {0})}).floats, ElementsAre(1, 2));
}

TEST(Evaluate, ListsAllUnknownOperatorsWithTheirNodesInOneError) {
  OneNode one("Frobnicate", 13);
  auto* second = one.model().mutable_graph()->add_node();
  second->set_op_type("Conv");
  second->set_domain("com.acme");
  second->add_output("z");
  auto* third = one.model().mutable_graph()->add_node();
  third->set_op_type("Frobnicate");
  third->set_name("m");
  EXPECT_EQ(one.Error({Sequence({1})}),
            "evaluate graph \"g\": 2 unknown operators: Frobnicate at \"n\", \"m\"; com.acme.Conv at (makes \"z\")");
}

TEST(Evaluate, RefusesACycle) {
  OneNode one("Relu", 13);
  one.model().mutable_graph()->mutable_node(0)->set_input(0, "y0");
  EXPECT_THAT(one.Error({Sequence({1})}), HasSubstr("value \"y0\" depends on itself"));
}

TEST(Evaluate, RefusesAValueThatNobodyMakes) {
  OneNode one("Relu", 13);
  one.model().mutable_graph()->mutable_node(0)->set_input(0, "ghost");
  EXPECT_THAT(one.Error({Sequence({1})}),
              HasSubstr("value \"ghost\", needed by node \"n\", is made by no node, input or initializer"));
}

TEST(Evaluate, RefusesInputsOfAnotherShapeThanDeclared) {
  OneNode one("Relu", 13);
  auto* type = one.model().mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(1);
  type->mutable_shape()->add_dim()->set_dim_value(3);
  type->mutable_shape()->add_dim()->set_dim_param("n");
  EXPECT_THAT(one.Error({Sequence({4, 1})}),
              HasSubstr("input \"x0\" is float32 [4, 1], the model declares data type 1 [3, n]"));
  EXPECT_THAT(one.Error({}), HasSubstr("0 inputs given, the model has 1"));
}

TEST(Evaluate, RefusesAnAttributeOfTheWrongType) {
  EXPECT_THAT(OneNode("Flatten", 13).Float("axis", 1).Error({Sequence({2, 2})}),
              HasSubstr("attribute \"axis\" has type FLOAT, INT required"));
}

TEST(Evaluate, RefusesAnUnknownOperatorSet) {
  EXPECT_THAT(OneNode("Relu", 99).Error({Sequence({1})}), HasSubstr("operator set 99: the evaluator knows 1 to 22"));
}

TEST(Evaluate, RefusesGiantShapesBeforeAllocating) {
  EXPECT_THAT(OneNode("ConstantOfShape", 13).Error({Tensor::Ints({2}, {int64_t{1} << 40, int64_t{1} << 40})}),
              HasSubstr("more than 268435456 elements"));
  EXPECT_THAT(OneNode("Expand", 13, 2).Error({Sequence({1}), Tensor::Ints({2}, {1 << 20, 1 << 20})}),
              HasSubstr("more than 268435456 elements"));
}

TEST(LoadModel, SaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(LoadModel("/nonexistent.onnx").status().message(), HasSubstr("open /nonexistent.onnx: cannot be read"));
  const std::string path = testing::TempDir() + "/not_a_model.onnx";
  std::ofstream(path) << "\xff\xff\xff not protobuf";
  EXPECT_THAT(LoadModel(path).status().message(), HasSubstr("not a serialized ONNX model"));
}

}  // namespace
}  // namespace lathe::reference
