// What handles mean while the tree is rewritten under them.
#include <gmock/gmock.h>

#include "compiler/schedule/compute_inline.h"
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
  EXPECT_THAT(schedule.Get(stale).status().message(), HasSubstr("use loop handle 1 of @main: the loop no longer exists"));
  const auto split = Split(schedule, stale, std::vector<std::optional<ExprRV>>{4, 4});
  EXPECT_THAT(split.status().message(), HasSubstr("use loop handle 1 of @main: the loop no longer exists"));
}

}  // namespace
}  // namespace lathe
