#include "rpc/gateway/stranger_limits.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using std::chrono::seconds;

TEST(RefusalLog, SlowsWhoeverIsRefusedTooOften) {
  RefusalLog log;
  const TimePoint begin{};
  for (size_t i = 0; i < RefusalLog::kFree; ++i) log.Refused("10.0.0.7", begin + seconds(i));
  EXPECT_EQ(log.DelayFor("10.0.0.7", begin + seconds(5)), Duration::zero());
  log.Refused("10.0.0.7", begin + seconds(5));
  EXPECT_EQ(log.DelayFor("10.0.0.7", begin + seconds(6)), RefusalLog::kDelay);
  EXPECT_EQ(log.DelayFor("10.0.0.8", begin + seconds(6)), Duration::zero());
  EXPECT_EQ(log.DelayFor("10.0.0.7", begin + seconds(60)), Duration::zero()) << "the first of six is a minute old";
}

TEST(RefusalLog, HoldsAFewThousandAddressesOnly) {
  RefusalLog log;
  const TimePoint begin{};
  for (size_t i = 0; i < RefusalLog::kMostAddresses; ++i) log.Refused(std::to_string(i), begin);
  for (int i = 0; i < 10; ++i) log.Refused("new", begin + seconds(1));
  EXPECT_EQ(log.DelayFor("new", begin + seconds(2)), Duration::zero()) << "no place for it";
  for (int i = 0; i < 10; ++i) log.Refused("new", begin + seconds(61));
  EXPECT_EQ(log.DelayFor("new", begin + seconds(62)), RefusalLog::kDelay) << "the others were forgotten";
}

TEST(WhoMakesRoom, IsTheOldestOfTheAddressThatHasTheMost) {
  EXPECT_EQ(WhoMakesRoom({"a"}), 0u);
  EXPECT_EQ(WhoMakesRoom({"a", "b", "c"}), 0u);
  EXPECT_EQ(WhoMakesRoom({"a", "b", "c", "b"}), 1u);
  EXPECT_EQ(WhoMakesRoom({"a", "a", "b", "c", "b", "b"}), 2u);
}

}  // namespace
}  // namespace lathe
