#include "runner/measure_policy.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/property_runs.h"

namespace lathe {
namespace {

// A machine on which call number i takes cost(i) ns.
struct FakeMachine {
  std::function<double(uint64_t)> cost;
  std::function<void(BatchTiming&, int)> disturb = [](BatchTiming&, int) {};
  int64_t now_ns = 0;
  uint64_t calls = 0;
  int batches = 0;

  MeasureResult Measure(const MeasurePolicy& policy, double incumbent_ns = 0) {
    MeasureSession session(policy, incumbent_ns, now_ns);
    while (const uint64_t n = session.Next()) {
      double ns = 0;
      for (uint64_t i = 0; i < n && i < 100000; ++i) ns += cost(calls + i);
      if (n > 100000) ns *= static_cast<double>(n) / 100000;
      calls += n;
      BatchTiming batch{.timed_ns = static_cast<int64_t>(ns), .wall_ns = static_cast<int64_t>(ns)};
      disturb(batch, batches++);
      now_ns += batch.wall_ns;
      session.Report(batch, now_ns);
    }
    return session.result();
  }
};

TEST(MeasureSession, FindsABatchAndStopsWhenTheIntervalCloses) {
  FakeMachine machine{.cost = [](uint64_t) { return 5000.0; }};
  const MeasureResult result = machine.Measure(ScreenPolicy());
  EXPECT_EQ(result.status, MeasureStatus::kOk);
  EXPECT_EQ(result.samples_ns.size(), 3u) << "they agree";
  EXPECT_NEAR(result.statistics.median, 5000, 1);
  EXPECT_GE(result.calls_per_sample * 5000, 4'000'000u);
  EXPECT_LT(machine.now_ns, 20'000'000) << "a typical trial's timed window";
  EXPECT_GT(machine.now_ns, 12'000'000);
}

TEST(MeasureSession, GrowsTheBatchPastASlowFirstGuess) {
  FakeMachine machine{.cost = [](uint64_t i) { return i < 3 ? 400'000.0 : 1000.0; }};  // Cold calls mislead.
  const MeasureResult result = machine.Measure(ScreenPolicy());
  EXPECT_NEAR(result.statistics.median, 1000, 1);
  EXPECT_GE(result.calls_per_sample, 4000u);
}

TEST(MeasureSession, TakesFiveRepeatsWhereThreeDoNotAgreeFarBetterThanAsked) {
  for (const auto& [spread_per_mille, repeats] : {std::pair(0, 3u), {9, 3u}, {12, 5u}, {30, 5u}}) {
    FakeMachine machine{.cost = [](uint64_t) { return 4e6; }};
    machine.disturb = [&](BatchTiming& batch, int i) {
      batch.timed_ns = batch.wall_ns += (i % 2) * batch.wall_ns * spread_per_mille / 1000;
    };
    EXPECT_EQ(machine.Measure(ScreenPolicy()).samples_ns.size(), repeats) << spread_per_mille;
  }
}

TEST(MeasureSession, RunsASlowKernelOnceToWarmUpAndOncePerRepeat) {
  FakeMachine machine{.cost = [](uint64_t) { return 100e6; }};
  const MeasureResult result = machine.Measure(ScreenPolicy());
  EXPECT_EQ(result.calls_per_sample, 1u);
  EXPECT_EQ(machine.calls, 4u);
}

TEST(MeasureSession, EndsAtItsBudget) {
  FakeMachine machine{.cost = [](uint64_t i) { return i % 2 == 0 ? 700e6 : 900e6; }};
  const MeasureResult result = machine.Measure(ScreenPolicy());
  EXPECT_LT(machine.now_ns, 3'500'000'000);
  EXPECT_FALSE(result.samples_ns.empty());
}

TEST(MeasureSession, TakesMoreRepeatsOfANoisyKernelAndSaysSo) {
  FakeMachine machine{.cost = [](uint64_t) { return 20e6; }};
  machine.disturb = [](BatchTiming& batch, int i) {
    batch.timed_ns = batch.wall_ns = 20'000'000 + (i * 7919 % 13) * 1'000'000;
  };
  const MeasureResult result = machine.Measure(ScreenPolicy());
  EXPECT_EQ(result.samples_ns.size(), 20u);
  EXPECT_EQ(result.status, MeasureStatus::kNoisy);
}

TEST(MeasureSession, AbandonsTheHopelessEarlyWithABoundNotATime) {
  FakeMachine machine{.cost = [](uint64_t) { return 4e6; }};
  const MeasureResult result = machine.Measure(ScreenPolicy(), /*incumbent_ns=*/1e6);
  EXPECT_EQ(result.status, MeasureStatus::kCensored);
  EXPECT_EQ(result.lower_bound_ns, 3e6);
  EXPECT_EQ(machine.calls, 2u) << "the first call may be cold, the second is not";
  FakeMachine awful{.cost = [](uint64_t) { return 50e6; }};
  EXPECT_EQ(awful.Measure(ScreenPolicy(), 1e6).status, MeasureStatus::kCensored);
  EXPECT_EQ(awful.calls, 1u);
}

TEST(MeasureSession, AbandonsWhatIsSlowerAfterOneWholeBatch) {
  FakeMachine machine{.cost = [](uint64_t i) { return i == 0 ? 8e6 : 2.3e6; }};
  const MeasureResult result = machine.Measure(ScreenPolicy(), /*incumbent_ns=*/1e6);
  EXPECT_EQ(result.status, MeasureStatus::kCensored);
  EXPECT_DOUBLE_EQ(result.lower_bound_ns, 2.3e6 / 1.15) << "nearly what was seen";
  EXPECT_EQ(machine.calls, 4u) << "two to warm up, which took 10 ms, one batch of two";
}

TEST(MeasureSession, MeasuresWhatIsNearTheIncumbentToItsEnd) {
  FakeMachine machine{.cost = [](uint64_t i) { return i == 0 ? 8e6 : 1.25e6; }};
  EXPECT_EQ(machine.Measure(ScreenPolicy(), 1e6).status, MeasureStatus::kOk);
}

TEST(MeasureSession, EndsTheRaceOfWhatTwoBatchesShowToBeSlower) {
  FakeMachine slower{.cost = [](uint64_t) { return 1.1e6; }};
  const MeasureResult result = slower.Measure(ScreenPolicy(), 1e6);
  EXPECT_EQ(result.status, MeasureStatus::kOk) << "the batches agree: a time, for the model to learn from";
  EXPECT_EQ(result.samples_ns.size(), 2u);
  EXPECT_DOUBLE_EQ(result.statistics.median, 1.1e6);
  FakeMachine near{.cost = [](uint64_t) { return 1.05e6; }};
  EXPECT_EQ(near.Measure(ScreenPolicy(), 1e6).samples_ns.size(), 3u) << "it may yet be the best";
  FakeMachine once{.cost = [](uint64_t) { return 1e6; }};
  once.disturb = [](BatchTiming& batch, int i) {
    if (i == 3) batch.timed_ns = batch.timed_ns * 12 / 10;
  };
  EXPECT_GE(once.Measure(ScreenPolicy(), 1e6).samples_ns.size(), 5u) << "one batch shows nothing";
  FakeMachine unsteady{.cost = [](uint64_t) { return 1.1e6; }};
  unsteady.disturb = [](BatchTiming& batch, int i) {
    if (i == 4) batch.timed_ns = batch.timed_ns * 13 / 10;
  };
  const MeasureResult censored = unsteady.Measure(ScreenPolicy(), 1e6);
  EXPECT_EQ(censored.status, MeasureStatus::kCensored) << "what its time is nobody needs to know";
  EXPECT_EQ(censored.lower_bound_ns, 1e6);
  EXPECT_EQ(censored.samples_ns.size(), 2u);
}

TEST(MeasureSession, DoesNotAbandonForADisturbedBatch) {
  FakeMachine machine{.cost = [](uint64_t) { return 1.1e6; }};
  machine.disturb = [](BatchTiming& batch, int i) {
    if (i != 3) return;
    batch.other_share = 0.5;
    batch.timed_ns = batch.wall_ns *= 2;
  };
  EXPECT_EQ(machine.Measure(ScreenPolicy(), 1e6).status, MeasureStatus::kOk);
}

TEST(MeasureSession, FinalistsAreNeverAbandoned) {
  FakeMachine machine{.cost = [](uint64_t) { return 400e6; }};
  EXPECT_EQ(machine.Measure(FinalPolicy(), 1e6).status, MeasureStatus::kOk);
}

TEST(MeasureSession, MeasuresDisturbedRepeatsAgainButNotForEver) {
  FakeMachine machine{.cost = [](uint64_t) { return 15e6; }};
  machine.disturb = [](BatchTiming& batch, int i) {
    if (i % 2 == 1) return;
    batch.other_share = 0.3;
    batch.timed_ns = batch.wall_ns = batch.wall_ns * 13 / 10;
  };
  const MeasureResult some = machine.Measure(ScreenPolicy());
  EXPECT_EQ(some.status, MeasureStatus::kOk);
  EXPECT_GT(some.redone, 0u);
  EXPECT_EQ(some.disturbed, 0u);
  EXPECT_NEAR(some.statistics.median, 15e6, 1);

  machine.disturb = [](BatchTiming& batch, int) { batch.other_share = 0.3; };
  const MeasureResult always = machine.Measure(ScreenPolicy());
  EXPECT_EQ(always.redone, 10u);
  EXPECT_EQ(always.disturbed, always.samples_ns.size());
  EXPECT_EQ(always.status, MeasureStatus::kNoisy);
}

TEST(MeasureSession, RedoesAShortBatchThatLostItsCpu) {
  MeasurePolicy policy = ScreenPolicy();
  policy.min_batch_ns = 1'000'000;
  FakeMachine machine{.cost = [](uint64_t) { return 2e6; }};
  machine.disturb = [](BatchTiming& batch, int i) { batch.involuntary_switches = i == 5 ? 1 : 0; };
  EXPECT_EQ(machine.Measure(policy).redone, 1u);
  FakeMachine longer{.cost = [](uint64_t) { return 4e6; }, .disturb = machine.disturb};
  EXPECT_EQ(longer.Measure(policy).redone, 0u) << "other_share says what a switch has cost";
}

TEST(MeasureSession, TerminatesForAnyTimings) {
  for (int seed = 1; seed <= PropertyRuns(300, 3); ++seed) {
    uint64_t state = static_cast<uint64_t>(seed);
    FakeMachine machine{.cost = [](uint64_t) { return 1.0; }};
    machine.disturb = [&](BatchTiming& batch, int) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      batch.timed_ns = batch.wall_ns = static_cast<int64_t>(std::exp2(static_cast<double>(state >> 59)));
      batch.other_share = (state & 8) != 0 ? 0.5 : 0;
    };
    const MeasureResult result = machine.Measure(ScreenPolicy(), seed % 3 == 0 ? 1000 : 0);
    ASSERT_LT(machine.batches, 120) << "seed " << seed;
    ASSERT_FALSE(result.samples_ns.empty()) << "seed " << seed;
  }
}

TEST(Summarize, TakesTheIntervalFromOrderStatistics) {
  std::vector<double> samples;
  for (int i = 1; i <= 20; ++i) samples.push_back(i);
  const SampleStatistics s = Summarize(samples);
  EXPECT_EQ(s.median, 10.5);
  EXPECT_EQ(s.half_width, 4.5) << "from the 6th to the 15th of 20: 95.9 %";
  EXPECT_EQ(s.min, 1);
  EXPECT_NEAR(s.p90, 18.1, 1e-9);
  EXPECT_EQ(s.mad, 5);
  EXPECT_EQ(Summarize(std::vector<double>{3}).relative_half_width(), 1) << "one sample says nothing about its spread";
}

}  // namespace
}  // namespace lathe
