#include "tuner/search/sketch_trials.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SketchTrials, OwesEachSketchThreeInTurns) {
  SketchTrials trials(2);
  EXPECT_THAT(trials.Owed(16), ElementsAre(0, 1, 0, 1, 0, 1));
  EXPECT_THAT(trials.Owed(3), ElementsAre(0, 1, 0)) << "no more than asked for";
  trials.Proposed(0);
  trials.Proposed(0);
  EXPECT_THAT(trials.Owed(16), ElementsAre(1, 1, 0, 1));
}

struct OwedCase {
  const char* name;
  int proposed, failed;
  size_t owed;
};
class OwedTest : public testing::TestWithParam<OwedCase> {};
TEST_P(OwedTest, ForgivesSixFailures) {
  SketchTrials trials(1);
  for (int i = 0; i < GetParam().proposed; ++i) trials.Proposed(0);
  for (int i = 0; i < GetParam().failed; ++i) trials.Failed(0);
  EXPECT_EQ(trials.Owed(16).size(), GetParam().owed);
}
INSTANTIATE_TEST_SUITE_P(Trials, OwedTest,
                         testing::Values(OwedCase{"None", 0, 0, 3}, OwedCase{"OneOpen", 1, 0, 2},
                                         OwedCase{"Three", 3, 0, 0}, OwedCase{"Many", 40, 0, 0},
                                         OwedCase{"ThreeFailed", 3, 3, 3}, OwedCase{"SixFailed", 6, 6, 3},
                                         OwedCase{"SevenFailed", 7, 7, 2}, OwedCase{"NineFailed", 9, 9, 0},
                                         OwedCase{"TwoOfFiveFailed", 5, 2, 0}),
                         [](const auto& info) { return info.param.name; });

TEST(SketchTrials, CountsNothingForTracesOfOtherSpaces) {
  SketchTrials trials(1);
  trials.Proposed(1);
  trials.Failed(-1);
  EXPECT_THAT(trials.Owed(16), ElementsAre(0, 0, 0));
  EXPECT_THAT(SketchTrials(0).Owed(16), IsEmpty());
}

}  // namespace
}  // namespace lathe
