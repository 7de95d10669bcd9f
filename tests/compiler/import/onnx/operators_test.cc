// Windows with every combination of attributes, in small random shapes, against the reference evaluator.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "support/random.h"
#include "tests/compiler/import/onnx/run_network.h"
#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe {
namespace {

using reference::Dims;

void AddInts(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}
void AddInt(onnx::NodeProto& node, const char* name, int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}
void AddString(onnx::NodeProto& node, const char* name, const char* value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

reference::Tensor RandomTensor(Random& random, const Dims& dims) {
  std::vector<double> values(static_cast<size_t>(reference::Product(dims)));
  for (double& value : values)
    value = static_cast<float>(random.Unit() * 2 - 1.5);  // Mostly negative: 0 is no neutral padding of a maximum.
  return reference::Tensor::Floats(dims, values);
}

// A model of one node with input "x" and constants "w", "b".
struct OneNode {
  onnx::ModelProto model;
  onnx::NodeProto* node;
  OneNode(const char* op, int64_t opset, const Dims& x, int x_type = onnx::TensorProto::FLOAT) {
    auto& set = *model.add_opset_import();
    set.set_version(opset);
    model.set_ir_version(7);
    auto& graph = *model.mutable_graph();
    auto& input = *graph.add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(x_type);
    for (const int64_t extent : x) type.mutable_shape()->add_dim()->set_dim_value(extent);
    graph.add_output()->set_name("y");
    node = graph.add_node();
    node->set_op_type(op);
    node->add_input("x");
    node->add_output("y");
  }
  void AddConstant(const char* name, const reference::Tensor& tensor) {
    node->add_input(name);
    reference::ToProto(tensor, name, *model.mutable_graph()->add_initializer());
  }
};

// False where the reference refuses the attributes: then there is nothing to compare.
bool ExpectSameAsReference(const OneNode& one, const reference::Tensor& x, const RunOptions& options,
                           const std::string& what) {
  const auto expected = reference::Evaluate(one.model, {x});
  const auto actual = RunNetwork(one.model, {x}, options);
  if (!expected.ok()) return false;
  EXPECT_TRUE(actual.ok()) << what << ": " << actual.status().ToString() << one.node->ShortDebugString();
  if (!actual.ok()) return true;
  EXPECT_EQ(reference::CompareAll(*actual, *expected, {1e-4, 1e-5}).message(), "")
      << what << ": " << one.node->ShortDebugString();
  return true;
}

std::vector<int64_t> Draw(Random& random, size_t count, int64_t low, int64_t high) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(low + static_cast<int64_t>(random.Below(static_cast<uint64_t>(high - low + 1))));
  return values;
}

constexpr uint64_t kSeed = 20240611;

TEST(Conv, AgreesWithTheReferenceForAllAttributes) {
  int compared = 0;
  for (uint64_t round = 0; round < 60; ++round) {
    Random random(Random::Mix(kSeed + round));
    const size_t rank = 1 + random.Below(3);
    const int64_t groups = std::vector<int64_t>{1, 1, 2, 4}[random.Below(4)],
                  in_per_group = 1 + static_cast<int64_t>(random.Below(3));
    const int64_t out = groups * std::vector<int64_t>{1, 2, 4, 5, 8}[random.Below(5)];
    Dims x = {1 + static_cast<int64_t>(random.Below(2)), groups * in_per_group}, w = {out, in_per_group};
    for (const int64_t extent : Draw(random, rank, 5, rank == 3 ? 6 : 9)) x.push_back(extent);
    for (const int64_t extent : Draw(random, rank, 1, 3)) w.push_back(extent);
    OneNode one("Conv", 11, x);
    one.AddConstant("w", RandomTensor(random, w));
    if (random.Below(2) == 0) one.AddConstant("b", RandomTensor(random, {out}));
    if (random.Below(2) == 0) AddInts(*one.node, "strides", Draw(random, rank, 1, 3));
    if (random.Below(3) == 0) AddInts(*one.node, "dilations", Draw(random, rank, 1, 2));
    AddInt(*one.node, "group", groups);
    const char* const auto_pads[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
    if (random.Below(3) == 0) {
      AddString(*one.node, "auto_pad", auto_pads[random.Below(3)]);
    } else if (random.Below(3) > 0) {
      AddInts(*one.node, "pads", Draw(random, 2 * rank, 0, 2));
    }
    compared += ExpectSameAsReference(one, RandomTensor(random, x), {3, int64_t{round % 2 == 0 ? 16 : 4}},
                                      fmt::format("seed {} round {}", kSeed, round));
  }
  EXPECT_GT(compared, 40);
}

void TestPool(const char* op) {
  int compared = 0;
  for (uint64_t round = 0; round < 60; ++round) {
    Random random(Random::Mix(kSeed + 1000 + round));
    const size_t rank = 1 + random.Below(3);
    Dims x = {1, 3};
    for (const int64_t extent : Draw(random, rank, 4, rank == 3 ? 6 : 9)) x.push_back(extent);
    OneNode one(op, std::string_view(op) == "MaxPool" ? 12 : 19, x);
    const std::vector<int64_t> kernel = Draw(random, rank, 2, 3);
    AddInts(*one.node, "kernel_shape", kernel);
    if (random.Below(2) == 0) AddInts(*one.node, "strides", Draw(random, rank, 1, 3));
    if (random.Below(4) == 0) AddInts(*one.node, "dilations", Draw(random, rank, 1, 2));
    if (random.Below(2) == 0) AddInt(*one.node, "ceil_mode", 1);
    if (std::string_view(op) == "AveragePool" && random.Below(2) == 0) AddInt(*one.node, "count_include_pad", 1);
    if (random.Below(4) == 0) {
      AddString(*one.node, "auto_pad", random.Below(2) == 0 ? "SAME_UPPER" : "SAME_LOWER");
    } else if (random.Below(3) > 0) {
      AddInts(*one.node, "pads", Draw(random, 2 * rank, 0, 1));
    }
    compared += ExpectSameAsReference(one, RandomTensor(random, x), {}, fmt::format("seed {} round {}", kSeed, round));
  }
  EXPECT_GT(compared, 40);
}
TEST(MaxPool, AgreesWithTheReferenceForAllAttributes) { TestPool("MaxPool"); }
TEST(AveragePool, AgreesWithTheReferenceForAllAttributes) { TestPool("AveragePool"); }

reference::Tensor RandomBytes(Random& random, const Dims& dims, bool is_signed) {
  std::vector<int64_t> values(static_cast<size_t>(reference::Product(dims)));
  for (int64_t& value : values) value = static_cast<int64_t>(random.Below(256)) - (is_signed ? 128 : 0);
  return reference::Tensor::Ints(dims, values, is_signed ? reference::DataType::kInt8 : reference::DataType::kUint8);
}

const std::vector<relax::DotShape> kDots = {{DataType::UInt(8), DataType::Int(8), DataType::Int(32), 16, 4},
                                            {DataType::Int(8), DataType::Int(8), DataType::Int(32), 4, 4}};

// Of each pair of signs; with zero points for all, for each row and column, or 0; by dense layers in panels and not,
// and by batches.
TEST(MatMulInteger, AgreesWithTheReferenceForAllZeroPoints) {
  for (uint64_t round = 0; round < 64; ++round) {
    Random random(kSeed + round);
    const bool a_signed = (round & 1) != 0, b_signed = (round & 2) != 0, is_batch = (round & 4) != 0;
    const int64_t m = 3, k = (round & 8) != 0 ? 8 : 5, n = (round & 8) != 0 ? 32 : 21;
    const Dims a = is_batch ? Dims{2, m, k} : Dims{m, k}, b = is_batch ? Dims{2, k, n} : Dims{k, n};
    OneNode one("MatMulInteger", 10, a, a_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8);
    one.AddConstant("w", RandomBytes(random, b, b_signed));
    const uint64_t form = round / 16;  // No zero points, 0, one for all, one for each.
    const Dims zero_a = form == 3 ? Dims{m} : Dims{}, zero_b = form == 3 ? Dims{n} : Dims{};
    if (form > 0) {
      reference::Tensor a0 = RandomBytes(random, zero_a, a_signed), b0 = RandomBytes(random, zero_b, b_signed);
      if (form == 1) a0.ints[0] = b0.ints[0] = 0;
      one.AddConstant("a0", a0);
      one.AddConstant("b0", b0);
    }
    EXPECT_TRUE(ExpectSameAsReference(one, RandomBytes(random, a, a_signed), {.target = {16, kDots}},
                                      fmt::format("seed {} round {}", kSeed, round)));
  }
}

TEST(Gemm, AgreesWithTheReferenceForAllAttributes) {
  for (int bits = 0; bits < 16; ++bits) {
    Random random(kSeed + bits);
    const int64_t m = 3, k = 5, n = bits % 2 == 0 ? 24 : 21;
    const bool trans_a = (bits & 2) != 0, trans_b = (bits & 4) != 0;
    const Dims x = trans_a ? Dims{k, m} : Dims{m, k};
    OneNode one("Gemm", 13, x);
    one.AddConstant("w", RandomTensor(random, trans_b ? Dims{n, k} : Dims{k, n}));
    one.AddConstant("b", RandomTensor(random, (bits & 8) != 0 ? Dims{n} : Dims{m, 1}));
    AddInt(*one.node, "transA", trans_a);
    AddInt(*one.node, "transB", trans_b);
    auto& alpha = *one.node->add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(onnx::AttributeProto::FLOAT);
    alpha.set_f(0.5f);
    ExpectSameAsReference(one, RandomTensor(random, x), {}, fmt::format("case {}", bits));
  }
}

TEST(Softmax, IsCoercedToTwoDimensionsBeforeOpset13) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    for (const int64_t opset : {9, 11, 13}) {
      for (const int64_t axis : {0, 1, 2}) {
        Random random(kSeed);
        OneNode one(op, opset, {2, 3, 4});
        AddInt(*one.node, "axis", axis);
        ExpectSameAsReference(one, RandomTensor(random, {2, 3, 4}), {},
                              fmt::format("{} opset {} axis {}", op, opset, axis));
      }
    }
  }
}

// NaN in the first operand and in the second.
TEST(Elementwise, KeepsNaN) {
  const reference::Tensor x = reference::Tensor::Floats({3}, {std::nan(""), -1, 2}),
                          w = reference::Tensor::Floats({3}, {1, std::nan(""), 3});
  for (const char* op : {"Relu", "Clip", "Max", "Min"}) {
    OneNode one(op, 10, {3});
    const bool is_binary = op[0] == 'M';
    if (is_binary) one.AddConstant("w", w);
    const auto y = RunNetwork(one.model, {x}, {});
    ASSERT_TRUE(y.ok()) << op << ": " << y.status().ToString();
    EXPECT_TRUE(std::isnan((*y)[0].floats[0])) << op;
    EXPECT_EQ(std::isnan((*y)[0].floats[1]), is_binary) << op;
    EXPECT_FALSE(std::isnan((*y)[0].floats[2])) << op;
  }
}

// 2^53 + 1 is no double.
TEST(Arithmetic, IsExactForLargeIntegers) {
  OneNode one("Add", 13, {1});
  one.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  one.AddConstant("w", reference::Tensor::Ints({}, {(int64_t{1} << 53) + 1}));
  const auto y = RunNetwork(one.model, {reference::Tensor::Ints({1}, {2})}, {});
  ASSERT_TRUE(y.ok()) << y.status().ToString();
  EXPECT_EQ((*y)[0].ints[0], (int64_t{1} << 53) + 3);
}

TEST(LayerNormalization, TakesTheMeanAndVarianceOfTheLastAxes) {
  for (const int64_t axis : {-1, 1, 2, 0}) {
    for (const bool has_bias : {true, false}) {
      Random random(kSeed);
      const Dims shape = {2, 3, 5};
      const Dims normalized(shape.begin() + (axis < 0 ? axis + 3 : axis), shape.end());
      OneNode one("LayerNormalization", 17, shape);
      one.AddConstant("scale", RandomTensor(random, normalized));
      if (has_bias) one.AddConstant("bias", RandomTensor(random, normalized));
      AddInt(*one.node, "axis", axis);
      ExpectSameAsReference(one, RandomTensor(random, shape), {}, fmt::format("axis {} bias {}", axis, has_bias));
    }
  }
}

// Every part is declared as an output, so that all are compared.
OneNode SplitInto(size_t parts, int64_t opset, int64_t axis, const Dims& x) {
  OneNode one("Split", opset, x);
  AddInt(*one.node, "axis", axis);
  for (size_t i = 1; i < parts; ++i) {
    one.node->add_output(fmt::format("y{}", i));
    one.model.mutable_graph()->add_output()->set_name(fmt::format("y{}", i));
  }
  return one;
}

TEST(Split, TakesPartsAsAttributeOrInputOrEqualOnes) {
  Random random(kSeed);
  const Dims shape = {4, 6, 5};
  const auto compare = [&](const OneNode& one, const char* what) {
    EXPECT_TRUE(ExpectSameAsReference(one, RandomTensor(random, shape), {}, what)) << what;
  };
  OneNode by_attribute = SplitInto(2, 11, 1, shape);
  AddInts(*by_attribute.node, "split", {2, 4});
  compare(by_attribute, "attribute");
  OneNode by_input = SplitInto(3, 13, -2, shape);
  by_input.AddConstant("parts", reference::Tensor::Ints({3}, {1, 0, 5}));
  compare(by_input, "input");
  compare(SplitInto(3, 13, 1, shape), "equal");
  OneNode with_number = SplitInto(3, 18, 2, shape);
  AddInt(*with_number.node, "num_outputs", 3);
  compare(with_number, "the last one is smaller");
  compare(SplitInto(1, 13, 0, shape), "one");
}

TEST(Split, RefusesPartsThatDoNotMakeTheAxis) {
  const Dims shape = {4, 6, 5};
  const auto error_of = [](const OneNode& one) { return RunNetwork(one.model, {}, {}).status().message(); };
  EXPECT_THAT(error_of(SplitInto(3, 13, 2, shape)), testing::HasSubstr("5 elements are not 3 equal parts; say split"));
  EXPECT_THAT(error_of(SplitInto(2, 13, 3, shape)), testing::HasSubstr("axis 3 of a tensor with 3 dimensions"));
  OneNode uneven = SplitInto(2, 13, 1, shape);
  uneven.AddConstant("parts", reference::Tensor::Ints({2}, {2, 5}));
  EXPECT_THAT(error_of(uneven), testing::HasSubstr("split [2, 5] makes no 2 outputs of an axis of 6 elements"));
  OneNode number = SplitInto(2, 18, 1, shape);
  AddInt(*number.node, "num_outputs", 3);
  EXPECT_THAT(error_of(number), testing::HasSubstr("num_outputs is 3, there are 2"));
}

TEST(Gelu, IsExactOrByTanh) {
  for (const char* how : {"none", "tanh"}) {
    Random random(kSeed);
    OneNode one("Gelu", 20, {3, 7});
    AddString(*one.node, "approximate", how);
    ExpectSameAsReference(one, RandomTensor(random, {3, 7}), {}, how);
  }
}

}  // namespace
}  // namespace lathe
