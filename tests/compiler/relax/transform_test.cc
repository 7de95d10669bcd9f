#include <gmock/gmock.h>

#include "compiler/ir/structural.h"
#include "compiler/relax/executor_plan.h"
#include "compiler/relax/extract_tasks.h"
#include "compiler/relax/op.h"
#include "compiler/relax/pipeline.h"
#include "compiler/relax/printer.h"
#include "compiler/relax/transform/alter_op_layout.h"
#include "compiler/relax/transform/dead_code_elimination.h"
#include "compiler/relax/transform/fold_constant.h"
#include "compiler/relax/transform/fuse_ops.h"
#include "compiler/relax/transform/fuse_tir.h"
#include "compiler/relax/transform/simplify_inference.h"
#include "compiler/relax/visitor.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "support/random.h"
#include "tests/compiler/relax/float_tensors.h"

namespace lathe::relax {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Expr Weights(const std::vector<int64_t>& shape, uint64_t seed = 1) {
  Random random(seed);
  std::vector<float> values(static_cast<size_t>(*ElementCount(shape)));
  for (float& value : values) value = static_cast<float>(random.Unit() + 0.5);
  return MakeConstant(TensorData::From(kF32, shape, values));
}

IRModule ModuleOf(Function main) {
  IRModule module;
  module.functions.push_back(std::move(main));
  return module;
}

std::vector<std::string> Calls(const IRModule& module) {
  std::vector<std::string> names;
  VisitBindings(*module.FindFunction("main"), [&](const Binding& binding) {
    const Call* call = binding.value.As<Call>();
    if (call == nullptr) return;
    names.push_back(call->op == &CallTirOp() ? call->args[0].As<GlobalVar>()->name : std::string(call->op->name));
  });
  return names;
}

Expr Norm(BlockBuilder& builder, const Expr& x, int64_t channels) {
  std::vector<Expr> args = {x};
  for (uint64_t i = 0; i < 4; ++i) args.push_back(Weights({channels}, 10 + i));
  return builder.Emit(MakeTupleGetItem(*builder.EmitCall("nn.batch_norm", args), 0));
}

TEST(SimplifyInference, FoldsBatchNormIntoTheConvolutionBeforeIt) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 3, 8, 8}));
  const Var conv = *builder.EmitCall("nn.conv2d", {x, Weights({4, 3, 1, 1})});
  const StatusOr<IRModule> module = SimplifyInference(ModuleOf(builder.Finish("main", Norm(builder, conv, 4))));
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(Calls(DeadCodeElimination(*module)), ElementsAre("nn.conv2d", "add"));
}

TEST(SimplifyInference, MultipliesAndAddsWhereTheConvolutionHasAnotherConsumer) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 3, 8, 8}));
  const Var conv = *builder.EmitCall("nn.conv2d", {x, Weights({4, 3, 1, 1})});
  const Expr normal = Norm(builder, conv, 4);
  const Var sum = *builder.EmitCall("add", {normal, conv});
  const StatusOr<IRModule> module = SimplifyInference(ModuleOf(builder.Finish("main", sum)));
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(Calls(DeadCodeElimination(*module)), ElementsAre("nn.conv2d", "multiply", "add", "add"));
}

TEST(FoldConstant, EvaluatesWhatDependsOnConstantsAlone) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({2}));
  const Expr two = MakeConstant(TensorData::From(kF32, {2}, std::vector<float>{2, 3}));
  const Var square = *builder.EmitCall("multiply", {two, two});
  const Var sum = *builder.EmitCall("add", {x, square});
  const StatusOr<IRModule> module = FoldConstant(ModuleOf(builder.Finish("main", sum)));
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(Calls(*module), ElementsAre("add"));
  const Call* add = module->functions[0].body.blocks[0].bindings[0].value.As<Call>();
  EXPECT_THAT(AsConstant(add->args[1])->ToDoubles(), ElementsAre(4, 9));
}

TEST(AlterOpLayout, ChoosesTheLargestBlockThatDivides) {
  EXPECT_EQ(ChooseBlock(64, 1, 16), 16);
  EXPECT_EQ(ChooseBlock(24, 1, 16), 8);
  EXPECT_EQ(ChooseBlock(1000, 1, 16), 16);  // Padded to 1008; 8 would leave half of each vector unused.
  EXPECT_EQ(ChooseBlock(1000, 1, 8), 8);
  EXPECT_EQ(ChooseBlock(72, 1, 16), 16);  // To 80: one ninth of zeros.
  EXPECT_EQ(ChooseBlock(40, 1, 16), 8);   // 48 would be a fifth.
  EXPECT_EQ(ChooseBlock(21, 1, 16), 16);  // Padded to 32.
  EXPECT_EQ(ChooseBlock(10, 1, 16), 0);   // Tiny.
  EXPECT_EQ(ChooseBlock(272, 4, 16), 4);  // 68 per group.
  EXPECT_EQ(ChooseBlock(20, 4, 16), 0);
}

// The last convolution of the main branch takes the residual add, not the projection.
IRModule ResidualBlock(int64_t lanes) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 16, 4, 4}));
  const auto conv = [&](const Expr& from, uint64_t seed) {
    const Var out = *builder.EmitCall("nn.conv2d", {from, Weights({16, 16, 1, 1}, seed)});
    return *builder.EmitCall("add", {out, Weights({1, 16, 1, 1}, seed + 50)});
  };
  const Var first = *builder.EmitCall("nn.relu", {conv(x, 1)});
  const Var main_branch = conv(first, 2);
  const Var projection = conv(x, 3);
  const Var sum = *builder.EmitCall("add", {main_branch, projection});
  const Var out = *builder.EmitCall("nn.relu", {sum});
  StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", out)), lanes);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return *std::move(module);
}

TEST(FuseOps, GivesTheResidualAddToTheDeeperProducer) {
  EXPECT_THAT(Calls(ResidualBlock(16)), ElementsAre("fused_conv2d_add_relu", "fused_conv2d_add",
                                                    "fused_conv2d_add_add_relu", "transpose", "reshape"));
}

// What is wanted twice is made once, and by itself.
TEST(FuseOps, LeavesAProducerWithTwoUsersAlone) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 16, 4, 4}));
  const Var wanted_twice = *builder.EmitCall("nn.conv2d", {x, Weights({16, 16, 1, 1}, 1)});
  const Var relu = *builder.EmitCall("nn.relu", {wanted_twice});
  const Var conv = *builder.EmitCall("nn.conv2d", {relu, Weights({16, 16, 1, 1}, 2)});
  const Var sum = *builder.EmitCall("add", {conv, wanted_twice});
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", sum)), 16);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(Calls(*module), ElementsAre("conv2d", "relu", "fused_conv2d_add"));
}

// y * sigmoid(y), and y * clip(y + 3) / 6: everybody who wants y is in one kernel with it.
TEST(FuseOps, TakesAProducerWhoseUsersMeet) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 16, 4, 4}));
  const auto conv = [&](const Expr& from, uint64_t seed) {
    return *builder.EmitCall("nn.conv2d", {from, Weights({16, 16, 3, 3}, seed)},
                             {{"padding", MakeIntsAttr({1, 1, 1, 1})}});
  };
  const Var first = conv(x, 1);
  const Var silu = *builder.EmitCall("multiply", {first, *builder.EmitCall("sigmoid", {first})});
  const Var second = conv(silu, 2);
  const Var more = *builder.EmitCall("add", {second, MakeScalar(kF32, 3)});
  const Var gate = *builder.EmitCall("maximum", {more, MakeScalar(kF32, 0)});
  const Var swish = *builder.EmitCall("multiply", {second, gate});
  const Var third = conv(swish, 3);
  const Var kept = *builder.EmitCall("multiply", {third, *builder.EmitCall("sigmoid", {third})});
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", MakeTuple({kept, third}))), 1);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_THAT(Calls(*module), ElementsAre("fused_conv2d_sigmoid_multiply", "fused_conv2d_add_maximum_multiply",
                                          "conv2d", "fused_sigmoid_multiply"));
}

Var MeanOfRows(BlockBuilder& builder, const Expr& x) {
  return *builder.EmitCall("mean", {x}, {{"axis", MakeIntsAttr({-1})}, {"keepdims", true}});
}
std::vector<std::string> CallsOptimized(BlockBuilder& builder, const Expr& result) {
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", result)), 16);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return module.ok() ? Calls(*module) : std::vector<std::string>();
}

TEST(FuseOps, MakesOneKernelOfARootMeanSquareNorm) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({6, 64}));
  const Var square = *builder.EmitCall("multiply", {x, x});
  const Var more = *builder.EmitCall("add", {MeanOfRows(builder, square), MakeScalar(kF32, 1e-5)});
  const Var root = *builder.EmitCall("sqrt", {more});
  const Var normed = *builder.EmitCall("divide", {x, root});
  const Var scaled = *builder.EmitCall("multiply", {normed, Weights({64})});
  EXPECT_THAT(CallsOptimized(builder, scaled), ElementsAre("fused_multiply_mean_add_sqrt_divide_multiply_multiply"));
}

TEST(FuseOps, MakesOneKernelOfALayerNorm) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({6, 64}));
  const Var centred = *builder.EmitCall("subtract", {x, MeanOfRows(builder, x)});
  const Var square = *builder.EmitCall("multiply", {centred, centred});
  const Var more = *builder.EmitCall("add", {MeanOfRows(builder, square), MakeScalar(kF32, 1e-5)});
  const Var normed = *builder.EmitCall("divide", {centred, *builder.EmitCall("sqrt", {more})});
  const Var scaled = *builder.EmitCall("multiply", {normed, Weights({64})});
  EXPECT_THAT(CallsOptimized(builder, scaled), testing::SizeIs(1));
}

// Its rows are no rows of registers.
TEST(FuseOps, LeavesAProductWhoseRowsAreReducedAlone) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({6, 64}));
  const Var product = *builder.EmitCall("matmul", {x, Weights({64, 32})});
  const Var centred = *builder.EmitCall("subtract", {product, MeanOfRows(builder, product)});
  EXPECT_THAT(CallsOptimized(builder, centred), ElementsAre(testing::HasSubstr("matmul"), "fused_mean_subtract"));
}

// What an attention is made of, and how it differs from the usual.
struct Attention {
  int64_t queries = 16, keys = 32, softmax_axis = -1;
  bool scores_are_wanted = false;
  int64_t cache_bytes = 8 << 10;  // Twice 16 rows of 32 numbers, before and after the softmax.
};
std::vector<std::string> KernelsOfAttention(const Attention& given) {
  BlockBuilder builder;
  const Var q = builder.Param("q", F32({2, given.queries, 16})), k = builder.Param("k", F32({2, given.keys, 16}));
  const Var v = builder.Param("v", F32({2, given.keys, 8})), mask = builder.Param("mask", F32({1, 1, given.keys}));
  const Var turned = *builder.EmitCall("permute_dims", {k}, {{"axes", MakeIntsAttr({0, 2, 1})}});
  const Var products = *builder.EmitCall("matmul", {q, turned});
  const Var scaled = *builder.EmitCall("multiply", {products, MakeScalar(kF32, 0.25)});
  const Var scores = *builder.EmitCall("add", {scaled, mask});
  const Var shares = *builder.EmitCall("nn.softmax", {scores}, {{"axis", given.softmax_axis}});
  const Var mixed = *builder.EmitCall("nn.relu", {*builder.EmitCall("matmul", {shares, v})});
  const Expr result = given.scores_are_wanted ? MakeTuple({mixed, scores}) : Expr(mixed);
  LayoutTarget target(16);
  target.cache_bytes = given.cache_bytes;
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", result)), target);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return module.ok() ? Calls(*module) : std::vector<std::string>();
}

TEST(FuseOps, MakesOneKernelOfAttention) {
  EXPECT_THAT(KernelsOfAttention({}), ElementsAre("fused_transpose_matmul_multiply_add_softmax_matmul_relu"));
}

TEST(FuseOps, LeavesAttentionInKernelsWhereItsRowsAreWantedOrOddOrLongOrFew) {
  const auto apart = ElementsAre("transpose", "fused_matmul_multiply_add", "softmax", "fused_matmul_relu");
  EXPECT_THAT(KernelsOfAttention({.scores_are_wanted = true}), apart);
  EXPECT_THAT(KernelsOfAttention({.softmax_axis = 1}), apart);
  EXPECT_THAT(KernelsOfAttention({.queries = 18}), apart);
  EXPECT_THAT(KernelsOfAttention({.keys = 40}), apart);
  EXPECT_THAT(KernelsOfAttention({.cache_bytes = 8191}), apart);
  EXPECT_THAT(KernelsOfAttention({.cache_bytes = 16 << 10}), apart);  // All of them lie there.
}

TEST(FuseOps, LeavesReductionsOfColumnsAlone) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({6, 64}));
  const Var mean = *builder.EmitCall("mean", {x}, {{"axis", MakeIntsAttr({0})}, {"keepdims", true}});
  EXPECT_THAT(CallsOptimized(builder, *builder.EmitCall("subtract", {x, mean})), ElementsAre("mean", "subtract"));
}

TEST(FuseOps, StripsOnlyTheNumberThatMadeANameUnique) {
  EXPECT_EQ(BaseName("conv2d_12"), "conv2d");
  EXPECT_EQ(BaseName("conv2d"), "conv2d");
  EXPECT_EQ(BaseName("fused_conv2d_add"), "fused_conv2d_add");
}

TEST(FuseTIR, MakesOneFunctionWithWeightsAsMarkedParameters) {
  const IRModule module = ResidualBlock(16);
  const PrimFunc* func = module.Find("fused_conv2d_add_add_relu");
  ASSERT_NE(func, nullptr);
  const StatusOr<PrimFunc> expected = ParsePrimFunc(R"(@T.prim_func
def fused_conv2d_add_add_relu(lv2: T.Buffer((1, 1, 4, 4, 16), "float32"), param: T.Buffer((1, 1, 1, 1, 16, 16), "float32"), param_1: T.Buffer((1, 1, 1, 1, 16), "float32"), lv6: T.Buffer((1, 1, 4, 4, 16), "float32"), T_relu: T.Buffer((1, 1, 4, 4, 16), "float32")):
    T.func_attr({"constant_params": [1, 2]})
    conv2d_nchwc = T.alloc_buffer((1, 1, 4, 4, 16))
    T_add = T.alloc_buffer((1, 1, 4, 4, 16))
    T_add_1 = T.alloc_buffer((1, 1, 4, 4, 16))
    for nn, ff, yy, xx, fb, rc, ry, rx, rb in T.grid(1, 1, 4, 4, 16, 1, 1, 1, 16):
        with T.block("conv2d_nchwc"):
            v_nn, v_ff, v_yy, v_xx, v_fb, v_rc, v_ry, v_rx, v_rb = T.axis.remap("SSSSSRRRR", [nn, ff, yy, xx, fb, rc, ry, rx, rb])
            with T.init():
                conv2d_nchwc[v_nn, v_ff, v_yy, v_xx, v_fb] = T.float32(0)
            conv2d_nchwc[v_nn, v_ff, v_yy, v_xx, v_fb] = conv2d_nchwc[v_nn, v_ff, v_yy, v_xx, v_fb] + lv2[v_nn, v_rc, v_yy + v_ry, v_xx + v_rx, v_rb] * param[v_ff, v_rc, v_ry, v_rx, v_rb, v_fb]
    for ax0, ax1, ax2, ax3, ax4 in T.grid(1, 1, 4, 4, 16):
        with T.block("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3, v_ax4 = T.axis.remap("SSSSS", [ax0, ax1, ax2, ax3, ax4])
            T_add[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] = conv2d_nchwc[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] + param_1[v_ax0, v_ax1, 0, 0, v_ax4]
    for ax0, ax1, ax2, ax3, ax4 in T.grid(1, 1, 4, 4, 16):
        with T.block("T_add_1"):
            v_ax0, v_ax1, v_ax2, v_ax3, v_ax4 = T.axis.remap("SSSSS", [ax0, ax1, ax2, ax3, ax4])
            T_add_1[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] = T_add[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] + lv6[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4]
    for ax0, ax1, ax2, ax3, ax4 in T.grid(1, 1, 4, 4, 16):
        with T.block("T_relu"):
            v_ax0, v_ax1, v_ax2, v_ax3, v_ax4 = T.axis.remap("SSSSS", [ax0, ax1, ax2, ax3, ax4])
            T_relu[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4] = T.max(T_add_1[v_ax0, v_ax1, v_ax2, v_ax3, v_ax4], T.float32(0))
)",
                                                    "expected.py");
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_TRUE(StructuralEqual(*func, *expected)) << Print(*func);
}

TEST(ExtractTasks, CountsCallsAndWorkOfEqualLayersOnce) {
  BlockBuilder builder;
  Expr x = builder.Param("x", F32({2, 16}));
  for (uint64_t i = 0; i < 3; ++i) {
    const Var dense = *builder.EmitCall("nn.dense", {x, Weights({16, 16}, i)});
    x = *builder.EmitCall("nn.relu", {dense});
  }
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", x)), 8);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const StatusOr<std::vector<ExtractedTask>> tasks = ExtractTasks(*module);
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 1u);
  EXPECT_EQ((*tasks)[0].name, "fused_dense_relu");
  EXPECT_EQ((*tasks)[0].weight, 3);
  EXPECT_EQ((*tasks)[0].anchor_flops, 2 * 2 * 16 * 16);
  EXPECT_EQ((*tasks)[0].flops, 2 * 2 * 16 * 16 + 2 * 16);
}

TEST(MakeExecutorPlan, TurnsReshapesIntoViewsAndWritesResultsInPlace) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({2, 3}));
  const Var relu = *builder.EmitCall("nn.relu", {x});
  const Var flat = *builder.EmitCall("reshape", {relu, MakeShape(std::vector<int64_t>{6})});
  const Var exp = *builder.EmitCall("exp", {flat});
  const Var back = *builder.EmitCall("reshape", {exp, MakeShape(std::vector<int64_t>{3, 2})});
  const StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", MakeTuple({back, x}))), 8);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const StatusOr<ExecutorPlan> plan = MakeExecutorPlan(*module);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->calls.size(), 2u);
  const PlanValue &written = plan->values[plan->calls[0].args.back()],
                  &read = plan->values[plan->calls[1].args.front()];
  EXPECT_EQ(written.storage, LATHE_STORAGE_ARENA);
  EXPECT_EQ(written.place, read.place);
  EXPECT_THAT(read.constant_shape(), ElementsAre(6));
  const PlanValue &made = plan->values[plan->calls[1].args.back()], &result = plan->values[plan->outputs[0].value];
  EXPECT_EQ(made.storage, LATHE_STORAGE_OUTPUT);
  EXPECT_EQ(result.storage, LATHE_STORAGE_OUTPUT);
  EXPECT_THAT(result.constant_shape(), ElementsAre(3, 2));
  EXPECT_EQ(plan->values[plan->outputs[1].value].storage, LATHE_STORAGE_INPUT);
  EXPECT_EQ(plan->arena_bytes, 64);
}

// SqueezeNet's fire module.
IRModule FireModule(const StructInfo& input) {
  BlockBuilder builder;
  const Var x = builder.Param("x", input);
  const auto expand = [&](uint64_t seed) {
    const Var conv = *builder.EmitCall("nn.conv2d", {x, Weights({16, 4, 1, 1}, seed)});
    return *builder.EmitCall("nn.relu", {conv});
  };
  const Var joined = *builder.EmitCall("concat", {MakeTuple({expand(1), expand(2)})}, {{"axis", 1}});
  const Var pooled = *builder.EmitCall("nn.relu", {joined});
  StatusOr<IRModule> module = OptimizeForTuning(ModuleOf(builder.Finish("main", MakeTuple({pooled, joined}))), 16);
  EXPECT_TRUE(module.ok()) << module.status().ToString();
  return *std::move(module);
}

TEST(MakeExecutorPlan, LetsProducersWriteTheirPartOfAConcatenation) {
  const IRModule module = FireModule(F32({1, 4, 2, 2}));
  const StatusOr<ExecutorPlan> plan = MakeExecutorPlan(module);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->calls.size(), 3u);
  const PlanValue &first = plan->values[plan->calls[0].args.back()], &second = plan->values[plan->calls[1].args.back()],
                  &joined = plan->values[plan->calls[2].args.front()];
  for (const PlanValue* value : {&first, &second, &joined}) {
    EXPECT_EQ(value->storage, LATHE_STORAGE_OUTPUT);
    EXPECT_EQ(value->place, 1);
  }
  EXPECT_EQ(first.offset, 0);
  EXPECT_EQ(second.offset, 64);
  EXPECT_EQ(joined.offset, 0);
  EXPECT_EQ(plan->outputs[1].value, plan->calls[2].args.front());
  const StatusOr<std::vector<ExtractedTask>> tasks = ExtractTasks(module);
  ASSERT_TRUE(tasks.ok());
  EXPECT_THAT(*tasks, ElementsAre(testing::Field(&ExtractedTask::name, "fused_conv2d_relu"),
                                  testing::Field(&ExtractedTask::name, "relu")));
}

TEST(MakeExecutorPlan, CopiesConcatenationsOfABatch) {
  const StatusOr<ExecutorPlan> plan = MakeExecutorPlan(FireModule(F32({2, 4, 2, 2})));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->calls.size(), 4u);
}

// The pieces of a concatenation live as long as any of them or the whole: `early` must outlast what lies between.
TEST(MakeExecutorPlan, KeepsAWholeFromItsFirstPartOn) {
  BlockBuilder builder;
  const Var x = builder.Param("x", F32({1, 16}));
  const Var early = *builder.EmitCall("nn.softmax", {x}), other = *builder.EmitCall("nn.softmax", {early});
  const Var late = *builder.EmitCall("nn.softmax", {other});
  const Var joined = *builder.EmitCall("concat", {MakeTuple({early, late})}, {{"axis", 1}});
  const StatusOr<IRModule> module =
      OptimizeForTuning(ModuleOf(builder.Finish("main", *builder.EmitCall("nn.softmax", {joined}))), 16);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const StatusOr<ExecutorPlan> plan = MakeExecutorPlan(*module);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->calls.size(), 4u);
  EXPECT_EQ(plan->arena_bytes, 128 + 64);
}

TEST(FuseOps, LeavesAConcatenationThatIsMadeInPlaceAlone) {
  EXPECT_THAT(Calls(FireModule(F32({1, 4, 2, 2}))),
              ElementsAre("fused_conv2d_relu", "fused_conv2d_relu", "concatenate", "relu"));
}

// y of (n,) is kept in memory that each run sizes, the result of (n * 2,) is the caller's.
TEST(MakeExecutorPlan, GivesWhatASymbolSizesMemoryOfItsOwn) {
  BlockBuilder builder;
  const lathe::Var n("n");
  const StructInfo once = MakeTensorInfo(PrimShape{n}, kF32), twice = MakeTensorInfo(PrimShape{n * 2}, kF32);
  const Var x = builder.Param("x", once);
  const auto call = [&](const char* name, const Expr& arg, const StructInfo& result) {
    return builder.Emit(Expr::Make(result, Call{&CallTirOp(), {MakeGlobalVar(name), MakeTuple({arg})}, {}}));
  };
  const Var y = call("negative", x, once);
  const StatusOr<ExecutorPlan> plan = MakeExecutorPlan(ModuleOf(builder.Finish("main", call("repeat", y, twice))));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  ASSERT_EQ(plan->symbols.size(), 1u);
  EXPECT_TRUE(plan->symbols[0].same_as(n));
  EXPECT_EQ(plan->values[plan->calls[0].args.back()].storage, LATHE_STORAGE_SIZED);
  EXPECT_EQ(plan->values[plan->outputs[0].value].storage, LATHE_STORAGE_OUTPUT);
  EXPECT_EQ(plan->arena_bytes, 0);
}

TEST(MakeExecutorPlan, RefusesAnExtentThatNoInputTells) {
  BlockBuilder builder;
  const Var x = builder.Param("x", MakeTensorInfo(PrimShape{lathe::Var("n") * 2}, kF32));
  EXPECT_THAT(MakeExecutorPlan(ModuleOf(builder.Finish("main", x))).status().message(),
              HasSubstr("R.Tensor((n * 2,), dtype=\"float32\") has an extent that no input tells"));
}

}  // namespace
}  // namespace lathe::relax
