#include "compiler/relax/transform/convert_layout.h"

#include <gmock/gmock.h>

#include "compiler/relax/op.h"
#include "compiler/relax/op/winograd.h"
#include "compiler/relax/transform/fold_constant.h"
#include "compiler/relax/visitor.h"
#include "compiler/relax/well_formed.h"
#include "support/random.h"
#include "tests/compiler/relax/float_tensors.h"
#include "tests/property_runs.h"

namespace lathe::relax {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr int64_t kLanes = 4;

Expr Numbers(const std::vector<int64_t>& shape, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<size_t>(*ElementCount(shape)));
  for (float& value : values) value = static_cast<float>(random.Unit() - 0.4);
  return MakeConstant(TensorData::From(kF32, shape, values));
}

Attr Ints(const std::vector<int64_t>& values) { return MakeIntsAttr(values); }

// A network of one input, written call by call.
class Net {
 public:
  // An input, or a constant of random numbers, so that all of it can be evaluated.
  Net(const std::vector<int64_t>& shape, bool is_constant)
      : input_(is_constant ? Numbers(shape, 99) : Expr(builder_.Param("x", F32(shape)))) {}
  Expr input() const { return input_; }
  Expr Call(std::string_view op, std::vector<Expr> args, AttrMap attrs = {}) {
    const StatusOr<Var> made = builder_.EmitCall(op, std::move(args), std::move(attrs));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return *made;
  }
  Expr Conv(const Expr& x, const std::vector<int64_t>& weight, AttrMap attrs = {}) {
    return Call("nn.conv2d", {x, Numbers(weight, ++seed_)}, std::move(attrs));
  }
  IRModule Finish(const Expr& result) {
    IRModule module;
    module.functions.push_back(builder_.Finish("main", result));
    return module;
  }

 private:
  BlockBuilder builder_;
  Expr input_;
  uint64_t seed_ = 0;
};

// "conv2d 1x2x8x8x4": what is called, and what comes out.
std::vector<std::string> CallsOf(const IRModule& module) {
  std::vector<std::string> calls;
  VisitBindings(module.functions[0], [&](const Binding& binding) {
    const Call* call = binding.value.As<Call>();
    if (call == nullptr) return;
    std::string text(call->op->name);
    if (text.starts_with("nn.")) text = text.substr(3);
    char before = ' ';
    for (const PrimExpr& extent : *binding.var.struct_info().As<TensorStructInfo>()->shape) {
      text += before + std::to_string(*AsIntConst(extent));
      before = 'x';
    }
    calls.push_back(text);
  });
  return calls;
}

const AttrMap kPad1 = {{"padding", Ints({1, 1, 1, 1})}};
AttrMap Grouped(int64_t groups, AttrMap attrs = kPad1) {
  attrs["groups"] = groups;
  return attrs;
}

struct LayoutCase {
  const char* name;
  std::vector<int64_t> input;
  Expr (*build)(Net& net);
  std::vector<std::string> after;
};

const LayoutCase kLayoutCases[] = {
    {"ImagesStayInBlocksFromConvolutionToConvolution",
     {1, 3, 8, 8},
     [](Net& net) {
       const Expr first = net.Call("nn.relu", {net.Conv(net.input(), {8, 3, 3, 3}, kPad1)});
       const Expr pool = net.Call("nn.max_pool2d", {first}, {{"pool_size", Ints({2, 2})}, {"strides", Ints({2, 2})}});
       return net.Conv(pool, {16, 8, 3, 3}, kPad1);
     },
     {"conv2d 1x2x8x8x4", "relu 1x2x8x8x4", "max_pool2d 1x2x4x4x4", "conv2d 1x4x4x4x4", "permute_dims 1x4x4x4x4",
      "reshape 1x16x4x4"}},
    {"BiasAndResidualComeAlong",
     {1, 8, 4, 4},
     [](Net& net) {
       const Expr first = net.Call("add", {net.Conv(net.input(), {8, 8, 3, 3}, kPad1), Numbers({8, 1, 1}, 7)});
       const Expr second = net.Call("multiply", {Numbers({1, 8, 1, 1}, 8), net.Conv(first, {8, 8, 3, 3}, kPad1)});
       return net.Call("maximum", {net.Call("add", {second, first}), MakeScalar(kF32, 0.1)});
     },
     {"conv2d 1x2x4x4x4", "add 1x2x4x4x4", "conv2d 1x2x4x4x4", "multiply 1x2x4x4x4", "add 1x2x4x4x4",
      "maximum 1x2x4x4x4", "permute_dims 1x2x4x4x4", "reshape 1x8x4x4"}},
    {"GatesOfOnePixelAreMovedForNothing",
     {1, 8, 4, 4},
     [](Net& net) {
       const Expr image = net.Conv(net.input(), {8, 8, 3, 3}, kPad1);
       const Expr mean = net.Call("nn.adaptive_avg_pool", {image}, {{"output_size", Ints({1, 1})}});
       const Expr gate = net.Call("sigmoid", {net.Conv(net.Conv(mean, {3, 8, 1, 1}), {8, 3, 1, 1})});
       return net.Call("mean", {net.Call("multiply", {gate, image})}, {{"axis", Ints({-2, -1})}, {"keepdims", true}});
     },
     {"conv2d 1x2x4x4x4", "adaptive_avg_pool 1x2x1x1x4", "permute_dims 1x2x4x1x1", "reshape 1x8x1x1", "conv2d 1x3x1x1",
      "conv2d 1x2x1x1x4", "sigmoid 1x2x1x1x4", "multiply 1x2x4x4x4", "mean 1x2x1x1x4", "permute_dims 1x2x4x1x1",
      "reshape 1x8x1x1"}},
    {"DepthwiseAndGroupedConvolutions",
     {1, 8, 6, 6},
     [](Net& net) {
       const Expr wide = net.Conv(net.input(), {16, 8, 3, 3}, kPad1);
       AttrMap attrs = Grouped(16);
       attrs["strides"] = Ints({2, 2});
       return net.Conv(net.Conv(wide, {16, 1, 3, 3}, attrs), {8, 8, 3, 3}, Grouped(2));
     },
     {"conv2d 1x4x6x6x4", "conv2d 1x4x3x3x4", "conv2d 1x2x3x3x4", "permute_dims 1x2x4x3x3", "reshape 1x8x3x3"}},
    {"ConcatenationsOfChannels",
     {1, 8, 4, 4},
     [](Net& net) {
       const Expr a = net.Conv(net.input(), {4, 8, 3, 3}, kPad1), b = net.Conv(net.input(), {8, 8, 3, 3}, kPad1);
       const Expr all = net.Call("concat", {MakeTuple({a, net.input(), b})}, {{"axis", int64_t{1}}});
       return net.Conv(all, {8, 20, 3, 3}, kPad1);
     },
     {"conv2d 1x1x4x4x4", "conv2d 1x2x4x4x4", "reshape 1x2x4x4x4", "permute_dims 1x2x4x4x4", "concat 1x5x4x4x4",
      "conv2d 1x2x4x4x4", "permute_dims 1x2x4x4x4", "reshape 1x8x4x4"}},
    // What no block divides is written as it was, and read as it was.
    {"OddChannelsStayAsTheyAre",
     {1, 8, 6, 6},
     [](Net& net) {
       const Expr odd = net.Conv(net.Conv(net.input(), {8, 8, 3, 3}, kPad1), {6, 8, 3, 3}, kPad1);
       return net.Conv(net.Call("nn.relu", {odd}), {8, 6, 3, 3}, kPad1);
     },
     {"conv2d 1x2x6x6x4", "permute_dims 1x2x4x6x6", "reshape 1x8x6x6", "conv2d 1x6x6x6", "relu 1x6x6x6",
      "conv2d 1x2x6x6x4", "permute_dims 1x2x4x6x6", "reshape 1x8x6x6"}},
    {"OthersGetWhatTheyExpect",
     {1, 8, 4, 4},
     [](Net& net) {
       const Expr image = net.Conv(net.input(), {8, 8, 3, 3}, kPad1);
       const Expr soft = net.Call("nn.softmax", {image}, {{"axis", int64_t{1}}});
       return net.Call("add", {soft, net.Call("add", {image, Numbers({4, 4}, 5)})});
     },
     {"conv2d 1x2x4x4x4", "permute_dims 1x2x4x4x4", "reshape 1x8x4x4", "softmax 1x8x4x4", "add 1x8x4x4",
      "add 1x8x4x4"}},
    {"WhatLiesInBlocksAlreadyStaysThere",
     {1, 2, 4, 4, 4},
     [](Net& net) {
       const Expr moved = net.Call("permute_dims", {net.input()}, {{"axes", Ints({0, 1, 4, 2, 3})}});
       const Expr image = net.Call("reshape", {moved, MakeShape(std::vector<int64_t>{1, 8, 4, 4})});
       const Expr conv = net.Conv(image, {8, 1, 3, 3}, Grouped(8));
       const Expr split = net.Call("reshape", {conv, MakeShape(std::vector<int64_t>{1, 2, 4, 4, 4})});
       return net.Call("permute_dims", {split}, {{"axes", Ints({0, 1, 3, 4, 2})}});
     },
     {"conv2d 1x2x4x4x4"}},
    {"WhatWouldBeMovedForLittleStays",
     {1, 8, 16, 16},
     [](Net& net) { return net.Conv(net.input(), {8, 1, 3, 3}, Grouped(8)); },
     {"conv2d 1x8x16x16"}},
};

class ConvertLayoutTest : public testing::TestWithParam<LayoutCase> {};

TEST_P(ConvertLayoutTest, MovesWhatItMust) {
  Net net(GetParam().input, false);
  const Expr result = GetParam().build(net);
  const StatusOr<IRModule> module = ConvertLayout(net.Finish(result), kLanes);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(CheckWellFormed(*module).message(), "");
  EXPECT_THAT(CallsOf(*module), ElementsAreArray(GetParam().after));
}

TEST_P(ConvertLayoutTest, KeepsEveryElement) {
  Net net(GetParam().input, true);
  const Expr result = GetParam().build(net);
  IRModule module = net.Finish(result);
  const auto value_of = [](StatusOr<IRModule> made) {
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    made = FoldConstant(*std::move(made));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    const TensorData* data = AsConstant(made->functions[0].body.body);
    EXPECT_NE(data, nullptr);
    return data == nullptr ? std::vector<double>() : data->ToDoubles();
  };
  const std::vector<double> before = value_of(module), after = value_of(ConvertLayout(module, kLanes));
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) ASSERT_NEAR(before[i], after[i], 1e-5 + 1e-5 * std::abs(before[i])) << i;
}

INSTANTIATE_TEST_SUITE_P(Cases, ConvertLayoutTest, testing::ValuesIn(kLayoutCases),
                         [](const auto& info) { return info.param.name; });

TEST(ChooseWinogradTile, CountsProductsTransformsAndWeights) {
  EXPECT_EQ(ChooseWinogradTile({64, 64, 56, 56}), 4);
  EXPECT_EQ(ChooseWinogradTile({256, 256, 14, 14}), 4);
  EXPECT_EQ(ChooseWinogradTile({512, 512, 7, 7}), 2);  // Tiles of 4 would need four times the weights.
  EXPECT_EQ(ChooseWinogradTile({512, 512, 2, 2}), 0);
  EXPECT_EQ(ChooseWinogradTile({8, 8, 56, 56}), 0);
}

// A square of 14 pixels in tiles of 4, and one of 8 in tiles of 2, with borders; what is no 3 x 3 of stride 1 stays.
TEST(ConvertLayout, ComputesByWinogradsAlgorithmWhereItMay) {
  for (const auto& [size, channels, products] :
       {std::tuple<int64_t, int64_t, const char*>{14, 64, "6x6x1x16x4x4x4"}, {8, 128, "4x4x1x32x4x4x4"}}) {
    std::vector<std::vector<double>> values;
    for (const bool allows : {false, true}) {
      Net net({1, 4, size, size}, true);
      const Expr first = net.Conv(net.input(), {channels, 4, 1, 1});
      const Expr second = net.Conv(first, {channels, channels, 3, 3}, kPad1);
      const Expr third = net.Conv(second, {4, channels, 3, 3}, {{"strides", Ints({2, 2})}});
      LayoutTarget target(kLanes);
      target.allows_winograd = allows;
      StatusOr<IRModule> module = ConvertLayout(net.Finish(third), target);
      ASSERT_TRUE(module.ok()) << module.status().ToString();
      EXPECT_EQ(CheckWellFormed(*module).message(), "");
      if (allows) {
        EXPECT_THAT(CallsOf(*module), testing::Contains(std::string("winograd_bgemm ") + products));
        EXPECT_THAT(CallsOf(*module).back(), testing::StartsWith("reshape 1x4x"));
      }
      if (channels == 128 && !AllRuns(100)) continue;  // Ten million products, interpreted: dear under sanitizers.
      module = FoldConstant(*std::move(module));
      ASSERT_TRUE(module.ok()) << module.status().ToString();
      const TensorData* data = AsConstant(module->functions[0].body.body);
      ASSERT_NE(data, nullptr);
      values.push_back(data->ToDoubles());
    }
    if (values.empty()) continue;
    double largest = 0, error = 0;
    for (size_t i = 0; i < values[0].size(); ++i) {
      largest = std::max(largest, std::abs(values[0][i]));
      error = std::max(error, std::abs(values[0][i] - values[1][i]));
    }
    EXPECT_LT(error, 2e-6 * largest);
  }
}

TEST(Winograd, RefusesWhatIsNoTileOfItsOwn) {
  const auto error = [](const char* op, const std::vector<std::vector<int64_t>>& shapes, AttrMap attrs) {
    BlockBuilder builder;
    std::vector<Expr> args;
    for (const std::vector<int64_t>& shape : shapes) args.push_back(builder.Param("x", F32(shape)));
    return MakeCall(op, args, std::move(attrs)).status().message();
  };
  EXPECT_EQ(error("nn.winograd_data_pack", {{1, 2, 8, 8, 4}}, {{"tile", int64_t{3}}}),
            "nn.winograd_data_pack: a tile of 3; 2 or 4 required");
  EXPECT_EQ(error("nn.winograd_data_pack", {{1, 2, 1, 8, 4}}, {{"tile", int64_t{2}}}),
            "nn.winograd_data_pack: pads [0, 0, 0, 0] of 1 x 8 pixels leave no result");
  EXPECT_EQ(error("nn.winograd_bgemm", {{4, 4, 1, 2, 3, 3, 4}, {4, 4, 2, 3, 4, 4}}, {}),
            "nn.winograd_bgemm: data [4, 4, 1, 2, 3, 3, 4] and weights [4, 4, 2, 3, 4, 4] differ in products or input "
            "channels");
  EXPECT_EQ(
      error("nn.winograd_inverse", {{4, 4, 1, 2, 3, 3, 4}}, {{"tile", int64_t{2}}, {"output_size", Ints({7, 6})}}),
      "nn.winograd_inverse: [4, 4, 1, 2, 3, 3, 4] are not the products of 7 x 6 pixels in tiles of 2");
}

TEST(ConvertLayout, ReturnsImagesAsTheyWere) {
  Net net({1, 8, 4, 4}, false);
  const Expr first = net.Conv(net.input(), {8, 8, 3, 3}, kPad1);
  const Expr second = net.Conv(first, {8, 8, 3, 3}, kPad1);
  const StatusOr<IRModule> module = ConvertLayout(net.Finish(MakeTuple({first, second, net.input()})), kLanes);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(CallsOf(*module), ElementsAre("conv2d 1x2x4x4x4", "permute_dims 1x2x4x4x4", "reshape 1x8x4x4",
                                            "conv2d 1x2x4x4x4", "permute_dims 1x2x4x4x4", "reshape 1x8x4x4"));
}

TEST(ConvertLayout, HalfOfTheLanesWhereAllDoNotDivide) {
  Net net({1, 8, 4, 4}, false);
  const Expr first = net.Conv(net.input(), {24, 8, 3, 3}, kPad1);
  const StatusOr<IRModule> module = ConvertLayout(net.Finish(net.Conv(first, {16, 24, 3, 3}, kPad1)), 16);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(CallsOf(*module),
              ElementsAre("conv2d 1x3x4x4x8", "conv2d 1x1x4x4x16", "permute_dims 1x1x16x4x4", "reshape 1x16x4x4"));
}

TEST(Convolution, RefusesBlocksThatDoNotFit) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 2, 4, 4, 4}));
  const auto error = [&](const std::vector<int64_t>& weight, const char* kernel, const char* out) {
    return MakeCall("nn.conv2d", {x, Numbers(weight, 1)},
                    {{"data_layout", std::string("NCHW4c")},
                     {"out_layout", std::string(out)},
                     {"kernel_layout", std::string(kernel)}})
        .status()
        .message();
  };
  EXPECT_EQ(error({2, 2, 1, 1, 4, 4}, "OIHW4i4o", "NCHW4c"), "");
  EXPECT_THAT(error({2, 8, 1, 1, 4}, "OIHW4o", "NCHW4c"),
              "nn.conv2d: blocks of 4 channels of the data, 4 of the result, 0 and 4 of the weights, 8 input and 8 "
              "output channels per group: blocks must divide them and be the last extents, weights have those of data "
              "and result, a depthwise convolution has one");
  EXPECT_THAT(error({2, 2, 1, 1, 4, 4}, "OIHW4i4o", "NCHW8c"), testing::HasSubstr("8 of the result"));
}

}  // namespace
}  // namespace lathe::relax
