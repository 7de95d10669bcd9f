// What handles mean while the tree is rewritten under them.
#include <gmock/gmock.h>

#include "compiler/ir/structural.h"
#include "compiler/schedule/annotate.h"
#include "compiler/schedule/compute_inline.h"
#include "compiler/schedule/fuse.h"
#include "compiler/schedule/get_block.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/split.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

using testing::HasSubstr;

Schedule ScheduleOf(const char* text) {
  StatusOr<PrimFunc> func = ParsePrimFunc(text, "test.py");
  CHECK(func.ok()) << func.status().ToString();
  StatusOr<Schedule> schedule = Schedule::Create(*std::move(func));
  CHECK(schedule.ok()) << schedule.status().ToString();
  return *std::move(schedule);
}

// A9: a block without a name shares its key with rows that are gone.
TEST(ScheduleStateTest, AStaleLoopHandleIsAnErrorBesideAnUnnamedBlock) {
  Schedule schedule = ScheduleOf(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("A"):
            v = T.axis.spatial(16, i)
            A[v] = T.float32(1)
    for j in range(16):
        with T.block():
            v = T.axis.spatial(16, j)
            B[v] = A[v]
)");
  const LoopRV stale = (*GetLoops(schedule, *GetBlock(schedule, "A")))[0];
  StatusOr<std::vector<LoopRV>> loops = Split(schedule, stale, std::vector<std::optional<ExprRV>>{4, 4});
  ASSERT_TRUE(loops.ok()) << loops.status().message();
  ASSERT_TRUE(Split(schedule, (*loops)[1], std::vector<std::optional<ExprRV>>{2, 2}).ok());
  EXPECT_THAT(schedule.Get(stale).status().message(),
              HasSubstr("use loop handle 1 of @main: the loop no longer exists"));
  const auto split = Split(schedule, stale, std::vector<std::optional<ExprRV>>{4, 4});
  EXPECT_THAT(split.status().message(), HasSubstr("use loop handle 1 of @main: the loop no longer exists"));
}

constexpr char kThreeOfOneName[] = R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("S"):
            v = T.axis.spatial(16, i)
            A[v] = T.float32(1)
    for j in range(16):
        with T.block("S"):
            v = T.axis.spatial(16, j)
            B[v] = A[v]
    for k in range(16):
        with T.block():
            v = T.axis.spatial(16, k)
            A[v] = B[v]
)";

TEST(ScheduleStateTest, BlocksOfOneNameAreFoundThroughTheirParentOnly) {
  Schedule schedule = ScheduleOf(kThreeOfOneName);
  EXPECT_THAT(GetBlock(schedule, "S").status().message(), HasSubstr("get_block @main: 2 blocks are named \"S\""));
  const std::vector<BlockRV> blocks = *GetChildBlocks(schedule, *GetBlock(schedule, "root"));
  ASSERT_EQ(blocks.size(), 3);
  for (const BlockRV block : blocks) {
    const LoopRV loop = (*GetLoops(schedule, block))[0];
    ASSERT_TRUE(Split(schedule, loop, std::vector<std::optional<ExprRV>>{4, 4}).ok());
    ASSERT_EQ(GetLoops(schedule, block)->size(), 2);
    EXPECT_EQ(schedule.Inconsistency(), "");
  }
}

TEST(ScheduleStateTest, AnEditOfOneOfTwoTwinsKeepsTheHandlesOfBoth) {
  Schedule schedule = ScheduleOf(kThreeOfOneName);
  const std::vector<BlockRV> blocks = *GetChildBlocks(schedule, *GetBlock(schedule, "root"));
  ASSERT_TRUE(Annotate(schedule, blocks[1], "mark", 1).ok());
  EXPECT_TRUE((*schedule.Get(blocks[0]))->block->annotations.empty());
  EXPECT_EQ((*schedule.Get(blocks[1]))->block->annotations.count("mark"), 1);
}

TEST(ScheduleStateTest, AMovedSubtreeKeepsItsHandlesAndARemovedOneLosesThem) {
  Schedule schedule = ScheduleOf(R"(
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
)");
  const BlockRV b = *GetBlock(schedule, "B"), c = *GetBlock(schedule, "C");
  const std::vector<LoopRV> b_loops = *GetLoops(schedule, b), c_loops = *GetLoops(schedule, c);
  ASSERT_TRUE(ComputeInline(schedule, b).ok());
  EXPECT_FALSE(schedule.Get(b).ok());
  EXPECT_FALSE(schedule.Get(b_loops[0]).ok());
  EXPECT_EQ((*schedule.Get(c))->block->name, "C");
  EXPECT_TRUE(schedule.Get(c_loops[1]).ok());
  EXPECT_EQ(schedule.Inconsistency(), "");
}

// Rows of what is gone are used again; nothing that was a handle of them means the newcomer.
TEST(ScheduleStateTest, ALongScheduleKeepsAShortTableAndDeadHandlesDead) {
  Schedule schedule = ScheduleOf(kThreeOfOneName);
  const BlockRV block = (*GetChildBlocks(schedule, *GetBlock(schedule, "root")))[1];
  std::vector<LoopRV> stale;
  for (int round = 0; round < 8; ++round) {  // Each doubles the length of a name.
    const LoopRV loop = (*GetLoops(schedule, block))[0];
    const StatusOr<std::vector<LoopRV>> halves = Split(schedule, loop, std::vector<std::optional<ExprRV>>{4, 4});
    ASSERT_TRUE(halves.ok());
    ASSERT_TRUE(Fuse(schedule, *halves).ok());
    stale.push_back(loop);
    stale.push_back((*halves)[0]);
  }
  EXPECT_LT(schedule.NumRows(), 12);
  for (const LoopRV loop : stale) EXPECT_FALSE(schedule.Get(loop).ok());
}

TEST(ScheduleStateTest, ACopyIsIndependent) {
  Schedule schedule = ScheduleOf(kThreeOfOneName);
  const BlockRV block = (*GetChildBlocks(schedule, *GetBlock(schedule, "root")))[0];
  const LoopRV loop = (*GetLoops(schedule, block))[0];
  Schedule copy = schedule;
  ASSERT_TRUE(Split(copy, loop, std::vector<std::optional<ExprRV>>{2, 8}).ok());
  EXPECT_EQ(GetLoops(copy, block)->size(), 2);
  EXPECT_EQ(GetLoops(schedule, block)->size(), 1);
  ASSERT_TRUE(Split(schedule, loop, std::vector<std::optional<ExprRV>>{4, 2, 2}).ok());
  EXPECT_EQ(GetLoops(copy, block)->size(), 2);
  EXPECT_EQ(copy.Inconsistency() + schedule.Inconsistency(), "");
}

// ---- Modules ----------------------------------------------------------------------------------------------------

constexpr char kTwoFunctions[] = R"(
@I.ir_module
class Module:
    @T.prim_func
    def one(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("S"):
                v = T.axis.spatial(16, i)
                A[v] = T.float32(1)
    @T.prim_func
    def two(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("S"):
                v = T.axis.spatial(8, i)
                A[v] = T.float32(2)
)";

Schedule ScheduleOfModule(const char* text) {
  StatusOr<IRModule> mod = ParseModule(text, "test.py");
  CHECK(mod.ok()) << mod.status().ToString();
  StatusOr<Schedule> schedule = Schedule::Create(*std::move(mod));
  CHECK(schedule.ok()) << schedule.status().ToString();
  return *std::move(schedule);
}

TEST(ScheduleOfModuleTest, WorksOnTheFunctionThatIsNamed) {
  Schedule schedule = ScheduleOfModule(kTwoFunctions);
  EXPECT_FALSE(schedule.IsWorkingOnAny());
  EXPECT_THAT(GetBlock(schedule, "S").status().message(), HasSubstr("none is worked on"));
  EXPECT_THAT(schedule.WorkOn("three").message(), HasSubstr("there are: one, two"));
  EXPECT_THAT(GetBlock(schedule, "S", "three").status().message(), HasSubstr("there are: one, two"));
  const BlockRV one = *GetBlock(schedule, "S", "one");
  ASSERT_TRUE(schedule.WorkOn("two").ok());
  const BlockRV two = *GetBlock(schedule, "S");
  ASSERT_TRUE(Split(schedule, (*GetLoops(schedule, two))[0], std::vector<std::optional<ExprRV>>{2, 4}).ok());
  ASSERT_TRUE(Split(schedule, (*GetLoops(schedule, one))[0], std::vector<std::optional<ExprRV>>{4, 4}).ok());
  EXPECT_EQ(GetLoops(schedule, one)->size() + GetLoops(schedule, two)->size(), 4);
  EXPECT_EQ(schedule.func().name, "two");
  EXPECT_EQ(schedule.Inconsistency(), "");
}

TEST(ScheduleOfModuleTest, ATraceNamesTheFunctions) {
  Schedule schedule = ScheduleOfModule(kTwoFunctions);
  ASSERT_TRUE(schedule.WorkOn("two").ok());
  const BlockRV block = *GetBlock(schedule, "S");
  ASSERT_TRUE(Split(schedule, (*GetLoops(schedule, block))[0], std::vector<std::optional<ExprRV>>{2, 4}).ok());
  Schedule again = ScheduleOfModule(kTwoFunctions);
  const Status status = schedule.trace().Replay(again);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(StructuralEqual(*again.mod().Find("two"), *schedule.mod().Find("two")));
  EXPECT_FALSE(StructuralEqual(*again.mod().Find("two"), *ScheduleOfModule(kTwoFunctions).mod().Find("two")));
}

TEST(ScheduleOfModuleTest, FunctionsThatShareStatementsAreScheduledApart) {
  const PrimFunc func = ScheduleOf(kThreeOfOneName).func();
  PrimFunc twin = func;
  twin.name = "twin";
  StatusOr<Schedule> schedule = Schedule::Create(IRModule{{func, twin}});
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  EXPECT_EQ(schedule->Inconsistency(), "");
  EXPECT_TRUE(StructuralEqual(schedule->mod().prim_funcs[0].body, func.body));
  const BlockRV block = (*GetChildBlocks(*schedule, *GetBlock(*schedule, "root", "twin")))[0];
  ASSERT_TRUE(Split(*schedule, (*GetLoops(*schedule, block))[0], std::vector<std::optional<ExprRV>>{2, 8}).ok());
  EXPECT_EQ(schedule->Inconsistency(), "");
  EXPECT_TRUE(schedule->mod().prim_funcs[0].body.As<BlockRealize>() != nullptr);
  EXPECT_TRUE(StructuralEqual(schedule->mod().prim_funcs[0].body, func.body));
}

TEST(ScheduleStateTest, AStatementThatStandsTwiceIsTakenApart) {
  const Buffer a = MakeBuffer("A", {16});
  const Var i("i"), v("v");
  const Block block(BlockNode{.name = "S",
                              .iter_vars = {IterVar{Range{0, 16}, v, IterKind::kSpatial}},
                              .body = MakeStore(a, FloatConst(a->dtype, 1), {v})});
  const Stmt nest = MakeFor(i, 16, BlockRealize{{i}, True(), block});
  const Stmt body = BlockRealize{{}, True(), Block(BlockNode{.name = "root", .body = Seq{{nest, nest}}})};
  StatusOr<Schedule> schedule = Schedule::Create(MakePrimFunc("main", {a}, body));
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  EXPECT_EQ(schedule->Inconsistency(), "");
  EXPECT_EQ(schedule->ChildBlocksOf(schedule->RootRow()).size(), 2);
}

}  // namespace
}  // namespace lathe
