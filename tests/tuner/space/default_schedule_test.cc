// What "untuned" means: the default schedule of each kind of operator is parallel, vectorised where its data lies in
// rows, and keeps its sums in local accumulators. Never naive loops.
#include "tuner/space/default_schedule.h"

#include <gmock/gmock.h>

#include "compiler/ir/visitor.h"
#include "compiler/relax/op.h"
#include "compiler/script/printer.h"
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using Shape = std::vector<int64_t>;

PrimFunc Legalize(const char* op, const std::vector<Shape>& shapes, AttrMap attrs) {
  std::vector<relax::Expr> args;
  for (const Shape& shape : shapes)
    args.push_back(relax::Var("x" + std::to_string(args.size()), relax::MakeTensorInfo(shape, DataType::Float(32))));
  const StatusOr<relax::Expr> value = relax::MakeCall(op, args, std::move(attrs));
  CHECK(value.ok()) << value.status().ToString();
  const relax::Call& call = *value->As<relax::Call>();
  const StatusOr<PrimFunc> func = call.op->legalize(call, value->struct_info());
  CHECK(func.ok()) << func.status().ToString();
  return *func;
}

struct OperatorCase {
  const char* name;
  const char* op;
  std::vector<Shape> shapes;
  AttrMap attrs;
  int64_t lanes;
};  // lanes 0: not vectorised.
class DefaultScheduleTest : public testing::TestWithParam<OperatorCase> {};

TEST_P(DefaultScheduleTest, IsParallelAndVectorisedWithLocalAccumulators) {
  const Target target = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1");
  const StatusOr<Schedule> schedule =
      DefaultSchedule(Legalize(GetParam().op, GetParam().shapes, GetParam().attrs), target);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  const std::string text = Print(schedule->func());
  SCOPED_TRACE(text);
  int num_updates = 0;
  int64_t update_lanes = 0;
  const std::function<void(const Stmt&, bool, int64_t)> walk = [&](const Stmt& stmt, bool is_parallel, int64_t lanes) {
    if (const For* loop = stmt.As<For>()) {
      const int64_t* extent = AsIntConst(loop->extent);
      walk(loop->body, is_parallel || loop->kind == ForKind::kParallel,
           loop->kind == ForKind::kVectorized ? *extent : lanes);
    } else if (const Seq* seq = stmt.As<Seq>()) {
      for (const Stmt& child : seq->stmts) walk(child, is_parallel, lanes);
    } else if (const BlockRealize* realize = stmt.As<BlockRealize>()) {
      const BlockNode& block = *realize->block;
      walk(block.body, is_parallel, lanes);
      const bool is_update = std::any_of(block.reads.begin(), block.reads.end(), [&](const BufferRegion& read) {
        return !block.writes.empty() && read.buffer.same_as(block.writes[0].buffer);
      });
      EXPECT_TRUE(is_parallel || block.iter_vars.empty()) << block.name;
      if (!is_update) return;
      EXPECT_THAT(block.writes[0].buffer->scope, testing::AnyOf("local", "register")) << block.name;
      update_lanes = std::max(update_lanes, lanes);
      ++num_updates;
    }
  };
  walk(schedule->func().body, false, 0);
  EXPECT_GE(num_updates, 1);
  EXPECT_EQ(update_lanes, GetParam().lanes);
}

const Attr kPad1 = relax::MakeIntsAttr({1, 1, 1, 1}), kStride2 = relax::MakeIntsAttr({2, 2});
INSTANTIATE_TEST_SUITE_P(
    Operators, DefaultScheduleTest,
    testing::Values(
        OperatorCase{"Conv2d", "nn.conv2d", {{1, 64, 56, 56}, {64, 64, 3, 3}}, {{"padding", kPad1}}, 8},
        OperatorCase{"Conv2dOfBlockedWeights",
                     "nn.conv2d",
                     {{1, 64, 28, 28}, {8, 64, 3, 3, 16}},
                     {{"padding", kPad1}, {"kernel_layout", "OIHW16o"}},
                     16},
        OperatorCase{"StridedConv2d",
                     "nn.conv2d",
                     {{1, 64, 56, 56}, {8, 64, 3, 3, 16}},
                     {{"padding", kPad1}, {"strides", kStride2}, {"kernel_layout", "OIHW16o"}},
                     16},
        OperatorCase{
            "DepthwiseConv2d", "nn.conv2d", {{1, 32, 56, 56}, {32, 1, 3, 3}}, {{"padding", kPad1}, {"groups", 32}}, 8},
        OperatorCase{"DepthwiseConv2dOfASmallMap",
                     "nn.conv2d",
                     {{1, 32, 14, 14}, {32, 1, 3, 3}},
                     {{"padding", kPad1}, {"groups", 32}},
                     16},
        OperatorCase{
            "GroupConv2d", "nn.conv2d", {{1, 32, 32, 32}, {32, 8, 3, 3}}, {{"padding", kPad1}, {"groups", 4}}, 16},
        OperatorCase{"MaxPool",
                     "nn.max_pool2d",
                     {{1, 64, 32, 32}},
                     {{"pool_size", relax::MakeIntsAttr({3, 3})}, {"padding", kPad1}},
                     16},
        OperatorCase{"AveragePool",
                     "nn.avg_pool2d",
                     {{1, 64, 32, 32}},
                     {{"pool_size", relax::MakeIntsAttr({3, 3})}, {"padding", kPad1}},
                     16},
        OperatorCase{"GlobalAveragePool", "nn.adaptive_avg_pool", {{1, 512, 7, 7}}, {}, 0},  // Neighbours of one sum:
                                                                                             // no lanes of their own.
        OperatorCase{"Softmax", "nn.softmax", {{4, 1000}}, {{"axis", -1}}, 16}),
    [](const auto& info) { return info.param.name; });

// Winograd's transforms: indices choose the formula, so each is written out by itself, innermost but for the lanes.
TEST(DefaultSchedule, WritesOutTheFormulasThatIndicesChoose) {
  const Target target = *Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4 -num-cores=1");
  const auto schedule_of = [&](const PrimFunc& func) {
    const StatusOr<Schedule> schedule = DefaultSchedule(func, target);
    CHECK(schedule.ok()) << schedule.status().ToString();
    ExpectSameBits(func, schedule->func());
    const std::string text = Print(schedule->func());
    std::string loops;
    for (size_t at = text.find("    for "); at != std::string::npos; at = text.find("    for ", at + 1))
      loops += text.substr(text.find(" in ", at) + 4, text.find(':', at) - text.find(" in ", at) - 4) + "; ";
    return loops;
  };
  EXPECT_EQ(schedule_of(Legalize("nn.winograd_data_pack", {{1, 2, 6, 5, 16}}, {{"tile", 4}, {"padding", kPad1}})),
            "T.parallel(2); T.grid(2, 2, 1); T.unroll(6); T.unroll(6); T.vectorized(16); ");
  EXPECT_EQ(schedule_of(Legalize("nn.winograd_inverse", {{4, 4, 1, 2, 3, 2, 16}},
                                 {{"tile", 2}, {"output_size", relax::MakeIntsAttr({5, 4})}})),
            "T.parallel(2); T.grid(3, 2, 1); T.unroll(2); T.unroll(2); T.vectorized(16); ");
}

}  // namespace
}  // namespace lathe
