#include "tracker/fair_share.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
constexpr TimePoint kBegin{seconds(1000)};
const FairShare::Owner kAnn{"ann", "job-1"}, kAnnToo{"ann", "job-2", 2}, kBob{"bob", "job-3"};

TEST(FairShare, CountsDeviceSecondsAndForgetsHalfOfThemInTenMinutes) {
  DeviceUse use;
  use.Change(2, kBegin);
  EXPECT_NEAR(use.SecondsAt(kBegin + seconds(5)), 10, 0.1);
  use.Change(-2, kBegin + seconds(5));
  EXPECT_NEAR(use.SecondsAt(kBegin + seconds(5) + kShareHalfLife), 5, 0.05);
  use = {};
  use.Change(1, kBegin);  // Held for ever, it tends to a half-life over ln 2.
  EXPECT_NEAR(use.SecondsAt(kBegin + minutes(300)), 600 / 0.6931, 1);
}

TEST(FairShare, WhoHadLessGoesFirst) {
  FairShare share;
  EXPECT_EQ(share.Of(kAnn, seconds(0), kBegin), share.Of(kBob, seconds(0), kBegin)) << "nobody had any";
  share.Began(kAnn, kBegin);
  EXPECT_LT(share.Of(kBob, seconds(30), kBegin), share.Of(kAnn, seconds(30), kBegin)) << "what is held counts at once";
  share.Ended(kAnn, kBegin + seconds(60));
  share.Began(kBob, kBegin + seconds(60));
  share.Ended(kBob, kBegin + seconds(70));
  EXPECT_LT(share.Of(kBob, seconds(0), kBegin + seconds(70)), share.Of(kAnn, seconds(0), kBegin + seconds(70)));
}

TEST(FairShare, AUsersJobsShareByWeight) {
  FairShare share;
  for (const FairShare::Owner& job : {kAnn, kAnnToo}) {
    share.Began(job, kBegin);
    share.Ended(job, kBegin + seconds(60));
  }
  const auto one = share.Of(kAnn, seconds(0), kBegin + seconds(60));
  const auto two = share.Of(kAnnToo, seconds(0), kBegin + seconds(60));
  EXPECT_EQ(one.user, two.user);
  EXPECT_DOUBLE_EQ(two.group * 2, one.group) << "of twice the weight: it has had half of its share";
  EXPECT_LT(two, one);
}

}  // namespace
}  // namespace lathe
