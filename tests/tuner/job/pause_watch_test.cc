#include "tuner/job/pause_watch.h"

#include <gtest/gtest.h>

namespace lathe {
namespace {

using std::chrono::seconds;

TimePoint At(int64_t s) { return TimePoint(seconds(1'000'000 + s)); }

TEST(PauseWatch, LeavesOutWhatItSleptThroughUnasked) {
  PauseWatch watch;
  EXPECT_EQ(watch.Own(At(0)), At(0));
  watch.WaitsUntil(At(10));
  EXPECT_EQ(watch.Own(At(14)), At(14)) << "a little late is no pause";
  EXPECT_EQ(watch.TakePause(), seconds(0));
  watch.WaitsUntil(At(20));
  EXPECT_EQ(watch.Own(At(51)), At(14)) << "nobody knows when it was stopped: the time since it was last awake is gone";
  EXPECT_EQ(watch.TakePause(), seconds(37));
  EXPECT_EQ(watch.TakePause(), seconds(0)) << "said once";
  EXPECT_EQ(watch.Own(At(52)), At(15));
  EXPECT_EQ(watch.ByClock(At(20)), At(57)) << "what was due at 20 is due as much later";
}

TEST(PauseWatch, TwoPausesAddUp) {
  PauseWatch watch;
  watch.Own(At(0));
  watch.WaitsUntil(At(1));
  watch.Own(At(31));
  watch.WaitsUntil(At(1));
  watch.Own(At(62));
  EXPECT_EQ(watch.TakePause(), seconds(62));
  EXPECT_EQ(watch.Own(At(63)), At(1));
}

TEST(PauseWatch, WaitingForNothingInParticularIsNoPause) {
  PauseWatch watch;
  watch.Own(At(0));
  watch.WaitsUntil(std::nullopt);
  EXPECT_EQ(watch.Own(At(1000)), At(1000));
}

TEST(PauseWatch, ACallOfItsOwnThatTookLongIsOne) {
  PauseWatch watch;
  watch.Own(At(0));
  watch.WaitsUntil(At(1));
  EXPECT_EQ(watch.Own(At(1)), At(1));
  EXPECT_EQ(watch.Own(At(4)), At(4));
  EXPECT_EQ(watch.Own(At(40)), At(4)) << "36 s for one write, in which it listened to nobody";
}

}  // namespace
}  // namespace lathe
