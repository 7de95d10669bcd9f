#include "tuner/job/golden_builds.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr TimePoint kBegin{minutes(1000)};
const GoldenFor kX86{"llvm -mcpu=x86-64", 2}, kArm{"llvm -mcpu=generic", 2};
const GoldenModule kModule{Sha256("module"), 6};

TEST(GoldenBuilds, BuildsWhatIsWantedOnceForEachTarget) {
  GoldenBuilds builds;
  EXPECT_EQ(builds.Next(kBegin), std::nullopt);
  EXPECT_EQ(builds.Get(kX86), nullptr);
  EXPECT_EQ(builds.Next(kBegin), kX86);
  builds.Begun(kX86, -1, "w", kBegin + minutes(2));
  EXPECT_EQ(builds.Next(kBegin), std::nullopt);
  EXPECT_EQ(builds.Get(kArm), nullptr);
  EXPECT_EQ(builds.Next(kBegin), kArm);
  EXPECT_TRUE(builds.Built(-1, kModule));
  EXPECT_EQ(builds.Get(kX86)->digest, kModule.digest);
  EXPECT_FALSE(builds.Built(-7, kModule)) << "a build of an earlier process";
  builds.Lost(kX86);
  EXPECT_EQ(builds.Get(kX86), nullptr);
}

TEST(GoldenBuilds, TriesAgainAMinuteAfterAFailureAndAtOnceAfterAWorkersEnd) {
  GoldenBuilds builds;
  (void)builds.Get(kX86);
  builds.Begun(kX86, -1, "w", kBegin + minutes(2));
  EXPECT_EQ(builds.NextDeadline(kBegin), kBegin + minutes(2));
  EXPECT_THAT(builds.GiveUpDue(kBegin + minutes(2)), testing::ElementsAre(-1));
  EXPECT_EQ(builds.Next(kBegin + minutes(3) - seconds(1)), std::nullopt);
  EXPECT_EQ(builds.NextDeadline(kBegin + minutes(2)), kBegin + minutes(3));
  EXPECT_EQ(builds.Next(kBegin + minutes(3)), kX86);
  EXPECT_EQ(builds.NextDeadline(kBegin + minutes(3)), std::nullopt) << "it waits for a worker, not for time";
  builds.Begun(kX86, -2, "w", kBegin + minutes(5));
  builds.WorkerLost("another");
  EXPECT_EQ(builds.Next(kBegin + minutes(4)), std::nullopt);
  builds.WorkerLost("w");
  EXPECT_EQ(builds.Next(kBegin + minutes(4)), kX86);
}

}  // namespace
}  // namespace lathe
