#include "tuner/search/untuned_schedule.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/feature/feature_extractor.h"
#include "tuner/space/constraints.h"
#include "tuner/space/default_schedule.h"
#include "tuner/space/register_pressure.h"

namespace lathe {
namespace {

using testing::HasSubstr;

double DraftOf(const Schedule& schedule, const Target& target) {
  return ExtractFeatures(schedule.func(), target)[kDraftColumn];
}

class UntunedScheduleTest : public testing::TestWithParam<const char*> {};

TEST_P(UntunedScheduleTest, IsTheSameEachTimeAndHasARegisterTile) {
  const TuneTask task = MakeTestTask(GetParam());
  const StatusOr<Schedule> schedule = UntunedSchedule(task.func, task.target);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  EXPECT_EQ(UntunedSchedule(task.func, task.target)->trace().ToJson(), schedule->trace().ToJson());
  EXPECT_GT(RegistersNeeded(schedule->func(), task.target), 0) << Print(schedule->func());
  EXPECT_TRUE(CheckConstraints(*schedule, task.target).ok());
}

TEST_P(UntunedScheduleTest, IsDraftedFasterThanTheRulesAlone) {
  const TuneTask task = MakeTestTask(GetParam());
  EXPECT_LT(DraftOf(*UntunedSchedule(task.func, task.target), task.target),
            DraftOf(*DefaultSchedule(task.func, task.target), task.target));
}

TEST_P(UntunedScheduleTest, ReplaysFromItsTrace) {
  const TuneTask task = MakeTestTask(GetParam());
  const Schedule schedule = *UntunedSchedule(task.func, task.target);
  Schedule again = *Schedule::Create(task.func);
  ASSERT_TRUE(ScheduleTrace::FromJson(schedule.trace().ToJson())->Replay(again).ok());
  EXPECT_EQ(Print(again.func()), Print(schedule.func()));
}

INSTANTIATE_TEST_SUITE_P(Workloads, UntunedScheduleTest, testing::Values(kMatmulRelu, kConvBiasAddRelu, kDepthwise14));

TEST(UntunedSchedule, IsTheRulesWhereTheyLeaveNothingToChoose) {
  const TuneTask task = MakeTestTask(kElementwise);
  EXPECT_EQ(Print(UntunedSchedule(task.func, task.target)->func()),
            Print(DefaultSchedule(task.func, task.target)->func()));
}

}  // namespace
}  // namespace lathe
