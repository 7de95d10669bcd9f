#include "support/deadlines.h"

#include <gmock/gmock.h>

#include <string>

namespace lathe {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr TimePoint kStart{seconds(100)};

TEST(DeadlinesTest, TheEarliestIsFirst) {
  Deadlines<std::string> deadlines;
  EXPECT_EQ(deadlines.First(), std::nullopt);
  deadlines.Set("late", kStart + seconds(2));
  deadlines.Set("early", kStart + seconds(1));
  EXPECT_EQ(deadlines.First(), kStart + seconds(1));
}

TEST(DeadlinesTest, ANewDeadlineReplacesTheFormerOne) {
  Deadlines<std::string> deadlines;
  deadlines.Set("it", kStart + seconds(1));
  deadlines.Set("it", kStart + seconds(5));
  EXPECT_EQ(deadlines.First(), kStart + seconds(5));
  EXPECT_THAT(deadlines.TakeDue(kStart + seconds(4)), IsEmpty());
  EXPECT_THAT(deadlines.TakeDue(kStart + seconds(5)), ElementsAre("it"));
}

TEST(DeadlinesTest, WhatIsDueIsTakenOnceEarliestFirst) {
  Deadlines<int> deadlines;
  for (const int number : {3, 1, 2}) deadlines.Set(number, kStart + seconds(number));
  EXPECT_THAT(deadlines.TakeDue(kStart + seconds(2)), ElementsAre(1, 2));
  EXPECT_FALSE(deadlines.Has(1));
  EXPECT_TRUE(deadlines.Has(3));
  EXPECT_THAT(deadlines.TakeDue(kStart + seconds(2)), IsEmpty());
}

TEST(DeadlinesTest, WhatIsClearedOrSetToNoneIsNeverDue) {
  Deadlines<int> deadlines;
  deadlines.Set(1, kStart);
  deadlines.Set(2, kStart);
  deadlines.Clear(1);
  deadlines.Set(2, std::nullopt);
  deadlines.Clear(3);  // It had none.
  EXPECT_EQ(deadlines.First(), std::nullopt);
  EXPECT_THAT(deadlines.TakeDue(kStart + seconds(9)), IsEmpty());
}

}  // namespace
}  // namespace lathe
