// Building, printing and checking Relax functions; inference and its errors.
#include <gmock/gmock.h>

#include "compiler/relax/block_builder.h"
#include "compiler/relax/op.h"
#include "compiler/relax/printer.h"
#include "compiler/relax/visitor.h"
#include "compiler/relax/well_formed.h"
#include "tests/compiler/relax/float_tensors.h"

namespace lathe::relax {
namespace {

using testing::HasSubstr;

Expr Ones(const std::vector<int64_t>& shape) {
  return MakeConstant(
      TensorData::From(kF32, shape, std::vector<float>(static_cast<size_t>(*ElementCount(shape)), 1.f)));
}

Function SmallFunction() {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 3, 8, 8}));
  const Var conv = *builder.EmitCall("nn.conv2d", {x, Ones({4, 3, 3, 3})}, {{"padding", MakeIntsAttr({1, 1, 1, 1})}});
  const Var sum = *builder.EmitCall("add", {conv, MakeScalar(kF32, 0.5)});
  const Var flat = *builder.EmitCall("reshape", {sum, MakeShape(std::vector<int64_t>{4, 64})});
  return builder.Finish("main", flat);
}

TEST(RelaxPrinter, WritesTvmScript) {
  EXPECT_EQ(Print(SmallFunction()), R"(@R.function
def main(x: R.Tensor((1, 3, 8, 8), dtype="float32")) -> R.Tensor((4, 64), dtype="float32"):
    with R.dataflow():
        lv: R.Tensor((1, 4, 8, 8), dtype="float32") = R.nn.conv2d(x, metadata["relax.expr.Constant"][0], padding=[1, 1, 1, 1])
        lv1: R.Tensor((1, 4, 8, 8), dtype="float32") = R.add(lv, R.const(0.5, "float32"))
        lv2: R.Tensor((4, 64), dtype="float32") = R.reshape(lv1, R.shape([4, 64]))
        R.output(lv2)
    return lv2
)");
}

TEST(BlockBuilder, MakesNamesUniqueAndValid) {
  BlockBuilder builder;
  EXPECT_EQ(builder.Param("image:0", F32({1})).name(), "image_0");
  EXPECT_EQ(builder.Param("image/0", F32({1})).name(), "image_0_1");
  EXPECT_EQ(builder.Param("0", F32({1})).name(), "v_0");
}

TEST(CheckWellFormed, FindsUsesBeforeDefinitionAndWrongCalls) {
  IRModule module;
  module.functions.push_back(SmallFunction());
  EXPECT_EQ(CheckWellFormed(module), OkStatus());
  Function& main = module.functions[0];
  std::vector<Binding>& bindings = main.body.blocks[0].bindings;
  const std::vector<Binding> good = bindings;
  std::swap(bindings[0], bindings[1]);
  EXPECT_EQ(CheckWellFormed(module).message(), "well-formed @main lv1: uses \"lv\", which is not defined here");
  bindings = good;
  bindings.push_back(bindings[0]);
  EXPECT_EQ(CheckWellFormed(module).message(), "well-formed @main lv: defined twice");
  bindings = good;
  bindings[1].value = MakeCallTir("absent", {bindings[0].var}, F32({1, 4, 8, 8}));
  EXPECT_EQ(CheckWellFormed(module).message(), "well-formed @main lv1: call_tir of no PrimFunc of the module");
}

TEST(Operators, HaveUniqueNamesAndKernelsOrAReasonForNone) {
  for (const Op* op : AllOps()) {
    EXPECT_NE(op->infer, nullptr) << op->name;
    EXPECT_EQ(FindOp(op->name), op);
    EXPECT_TRUE(op == &CallTirOp() || !op->kernel_name.empty()) << op->name;
  }
}

struct InferenceErrorCase {
  const char* name;
  const char* op;
  std::vector<std::vector<int64_t>> args;
  AttrMap attrs;
  const char* message;
};
class InferenceErrorTest : public testing::TestWithParam<InferenceErrorCase> {};
TEST_P(InferenceErrorTest, SaysWhatDoesNotFit) {
  std::vector<Expr> args;
  for (const auto& shape : GetParam().args) args.push_back(Var("x", F32(shape)));
  const StatusOr<Expr> call = MakeCall(GetParam().op, args, GetParam().attrs);
  EXPECT_EQ(call.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(call.status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Cases, InferenceErrorTest,
    testing::Values(
        InferenceErrorCase{"Broadcast", "add", {{2, 3}, {4}}, {}, "add: shapes (2, 3) and (4,) do not broadcast"},
        InferenceErrorCase{"Groups", "nn.conv2d", {{1, 4, 8, 8}, {4, 4, 3, 3}}, {{"groups", 2}}, "nn.conv2d: 2 groups"},
        InferenceErrorCase{"Kernel",
                           "nn.conv2d",
                           {{1, 4, 2, 2}, {4, 4, 3, 3}},
                           {},
                           "nn.conv2d: dimension 0: the kernel covers 3, the padded data has 2"},
        InferenceErrorCase{"Stride", "nn.max_pool2d", {{1, 4, 8, 8}}, {{"strides", MakeIntsAttr({0, 1})}}, "stride 0"},
        InferenceErrorCase{"Dense", "nn.dense", {{2, 3}, {5, 4}}, {}, "[..., K] and [N, K] of one type required"},
        InferenceErrorCase{"Huge", "matmul", {{1 << 20, 1}, {1, 1 << 20}}, {}, "has more than 2^31 - 1 elements"},
        InferenceErrorCase{"Axes",
                           "permute_dims",
                           {{2, 3}},
                           {{"axes", MakeIntsAttr({0, 0})}},
                           "axes [0, 0] are no permutation of 2 axes"},
        InferenceErrorCase{"Arguments", "add", {{2}}, {}, "add: 1 arguments, 2 required"}),
    [](const auto& info) { return info.param.name; });

TEST(Inference, KeepsSymbolicExtents) {
  const lathe::Var n("n");
  const Var x("x", MakeTensorInfo(PrimShape{n, 3}, kF32)), w("w", F32({5, 3}));
  const Expr dense = *MakeCall("nn.dense", {x, w});
  EXPECT_EQ(ToText(dense.struct_info()), "R.Tensor((n, 5), dtype=\"float32\")");
  EXPECT_EQ(ToText(MakeCall("add", {x, x})->struct_info()), "R.Tensor((n, 3), dtype=\"float32\")");
}

}  // namespace
}  // namespace lathe::relax
