#include "tuner/job/troubles.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using std::chrono::seconds;

TEST(Troubles, LastsWhileTheSameFailsAgainAndEndsWhenItSucceeds) {
  Troubles troubles;
  const TimePoint begin{};
  EXPECT_FALSE(troubles.Worst(begin).has_value());
  EXPECT_TRUE(troubles.Failed("commit a result", "disk is full", begin));
  EXPECT_FALSE(troubles.Worst(begin).has_value()) << "once is no trouble yet";
  EXPECT_FALSE(troubles.Failed("commit a result", "disk is full", begin + seconds(4))) << "said four seconds ago";
  ASSERT_TRUE(troubles.Worst(begin + seconds(4)).has_value());
  EXPECT_EQ(troubles.Worst(begin + seconds(4))->words, "commit a result: disk is full");
  EXPECT_EQ(troubles.Worst(begin + seconds(5))->lasts, seconds(4));
  troubles.Succeeded("commit a result");
  EXPECT_FALSE(troubles.Worst(begin + seconds(5)).has_value());
}

TEST(Troubles, SuccessOfAnotherKindDoesNotEndIt) {
  Troubles troubles;
  const TimePoint begin{};
  (void)troubles.Failed("store an artifact", "disk is full", begin);
  (void)troubles.Failed("claim a build", "disk is full", begin + seconds(2));
  (void)troubles.Failed("store an artifact", "disk is full", begin + seconds(17));  // Tried again after 1 and 16 s.
  (void)troubles.Failed("claim a build", "disk is full", begin + seconds(17));
  troubles.Succeeded("claim a build");
  EXPECT_EQ(troubles.Worst(begin + seconds(18))->words, "store an artifact: disk is full");
  EXPECT_EQ(troubles.Worst(begin + seconds(18))->lasts, seconds(17));
}

TEST(Troubles, IsForgottenWhenNothingFailsAnyMore) {
  Troubles troubles;
  const TimePoint begin{};
  (void)troubles.Failed("lose worker a", "disk is full", begin);
  (void)troubles.Failed("lose worker a", "disk is full", begin + seconds(9));
  EXPECT_TRUE(troubles.Worst(begin + seconds(39)).has_value());
  EXPECT_FALSE(troubles.Worst(begin + seconds(40)).has_value());
  EXPECT_TRUE(troubles.Failed("lose worker a", "disk is full", begin + seconds(50)));
  EXPECT_FALSE(troubles.Worst(begin + seconds(50)).has_value()) << "it begins anew";
}

}  // namespace
}  // namespace lathe
