#include "tuner/search/shared_replay.h"

#include <gtest/gtest.h>

#include "compiler/ir/structural.h"
#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/decisions.h"

namespace lathe {
namespace {

class SharedReplayTest : public testing::Test {
 protected:
  // By both ways; the same trace and function, or none. `what` says where.
  std::optional<Schedule> ReplayBothWays(const ScheduleTrace& trace, uint64_t seed, const std::string& what) {
    SCOPED_TRACE(what);
    Schedule plain = unscheduled_;
    plain.Seed(seed);
    const bool is_replayed = trace.Replay(plain).ok();
    StatusOr<Schedule> shared = shared_.Replay(trace, seed);
    EXPECT_EQ(shared.ok(), is_replayed);
    if (!shared.ok() || !is_replayed) return std::nullopt;
    EXPECT_EQ(shared->trace().ToJson(), plain.trace().ToJson());
    EXPECT_TRUE(StructuralEqual(shared->func(), plain.func()));
    return plain;
  }

  const TuneTask task_ = MakeTestTask(kConvBiasAddRelu);
  const Schedule unscheduled_ = *Schedule::Create(task_.func);
  SharedReplay shared_{unscheduled_};
};

// Blind draws between bred ones: what is kept for these does not leak into those.
TEST_F(SharedReplayTest, IsWhatAReplayFromTheStartIs) {
  for (size_t sketch = 0; sketch < task_.sketches.size(); ++sketch) {
    shared_ = SharedReplay(unscheduled_);
    Random random(sketch);
    ScheduleTrace parent = task_.sketches[sketch].trace;
    for (uint64_t i = 0; i < 60; ++i) {
      const std::string what = "sketch " + std::to_string(sketch) + ", replay " + std::to_string(i);
      const std::optional<ScheduleTrace> child = Mutate(parent, {}, random);
      const bool is_blind = !child || random.Below(4) == 0;
      const std::optional<Schedule> made =
          ReplayBothWays(is_blind ? task_.sketches[sketch].trace : *child, random.Next(), what);
      if (made) parent = made->trace();
    }
  }
}

// A trace that decides some and leaves others open takes its own where it has them, and draws the rest.
TEST_F(SharedReplayTest, DrawsWhatIsLeftOpen) {
  const std::optional<Schedule> whole = ReplayBothWays(task_.sketches[0].trace, 1, "whole");
  ASSERT_TRUE(whole.has_value());
  ASSERT_TRUE(ReplayBothWays(whole->trace(), 2, "the same again").has_value());
  ScheduleTrace open = task_.sketches[0].trace;
  const auto& [first, decision] = *whole->trace().decisions().begin();
  open.SetDecision(first, decision);
  for (uint64_t seed = 3; seed < 9; ++seed) ReplayBothWays(open, seed, "open, seed " + std::to_string(seed));
}

TEST_F(SharedReplayTest, SaysWhyATraceDoesNotReplay) {
  ScheduleTrace wrong = task_.sketches[0].trace;
  size_t sampled = 0;
  while (!wrong.instruction(sampled).kind->samples) ++sampled;
  wrong.SetDecision(sampled, std::vector<int64_t>{1});
  const StatusOr<Schedule> made = shared_.Replay(wrong, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("the decision is not a list of"), std::string::npos)
      << made.status().message();
}

}  // namespace
}  // namespace lathe
