#include "tuner/search/evolutionary_search.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/sketch_trials.h"

namespace lathe {
namespace {

EvolutionaryOptions Small() {
  EvolutionaryOptions options;
  options.population = 32;
  options.generations = 2;
  return options;
}

// All digests that a search proposes in `rounds` rounds of 16, results told in an order drawn from `order_seed`.
std::vector<Digest> RunRounds(const TuneTask& task, uint64_t seed, int rounds,
                              std::vector<ModelReport>* reports = nullptr) {
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  SimulatedDevice device({});
  EvolutionaryOptions options = Small();
  if (reports != nullptr) {
    options.on_update = [reports](const ModelReport& report) { reports->push_back(report); };
  }
  const auto search = MakeEvolutionarySearch(task, *model, seed, options);
  std::vector<Digest> digests;
  for (int round = 0; round < rounds; ++round) {
    std::vector<MeasuredCandidate> results;
    for (const MeasureCandidate& candidate : search->Propose(16)) {
      digests.push_back(candidate.trace_digest);
      results.push_back(device.Measure(candidate));
    }
    Random random(99 + round);
    for (size_t i = results.size(); i > 1; --i) std::swap(results[i - 1], results[random.Below(i)]);
    for (const MeasuredCandidate& result : results) search->Observe(result);
  }
  return digests;
}

TEST(EvolutionarySearch, SameSeedSameCandidates) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::vector<Digest> first = RunRounds(task, 5, 3);
  EXPECT_EQ(first, RunRounds(task, 5, 3));
  EXPECT_NE(first, RunRounds(task, 6, 3));
}

TEST(EvolutionarySearch, ProposesNothingTwiceAndLearnsEverySixteenResults) {
  const TuneTask task = MakeTestTask(kConvBiasAddRelu);
  std::vector<ModelReport> reports;
  const std::vector<Digest> digests = RunRounds(task, 1, 4, &reports);
  EXPECT_EQ(digests.size(), 64u);
  EXPECT_EQ(std::set<Digest>(digests.begin(), digests.end()).size(), digests.size());
  ASSERT_EQ(reports.size(), 4u);
  for (size_t i = 0; i < reports.size(); ++i) {
    EXPECT_EQ(reports[i].batch, 16u);
    EXPECT_EQ(reports[i].rows, 16 * (i + 1));
    EXPECT_GT(reports[i].before.pairs, 0);
  }
}

TEST(EvolutionarySearch, EachCandidateReplaysToWhatItSays) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  for (const MeasureCandidate& candidate : MakeEvolutionarySearch(task, *model, 3, Small())->Propose(8)) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(candidate.trace_json);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    const StatusOr<MeasureCandidate> again = MakeCandidate(task, *trace, 0);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->trace_digest, candidate.trace_digest);
  }
}

TEST(EvolutionarySearch, HandsOutOneByOneWithResultsLate) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto search = MakeEvolutionarySearch(task, *model, 3, Small());
  SimulatedDevice device({});
  std::vector<MeasureCandidate> in_flight;
  std::set<Digest> seen;
  for (int i = 0; i < 60; ++i) {
    std::vector<MeasureCandidate> one = search->Propose(1);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_TRUE(seen.insert(one[0].trace_digest).second);
    in_flight.push_back(std::move(one[0]));
    if (in_flight.size() > 10) {  // The newest first: results keep no order.
      search->Observe(device.Measure(in_flight.back()));
      in_flight.pop_back();
    }
  }
}

TEST(EvolutionarySearch, KnowsWhatAnEarlierRunMeasured) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  SimulatedDevice device({});
  const std::vector<MeasureCandidate> earlier = MakeRandomSearch(task, 4)->Propose(40);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  int updates = 0;
  EvolutionaryOptions options = Small();
  options.on_update = [&](const ModelReport&) { ++updates; };
  const auto search = MakeEvolutionarySearch(task, *model, 4, options);
  std::set<Digest> known;
  for (const MeasureCandidate& candidate : earlier) {
    const MeasuredCandidate measured = device.Measure(candidate);
    search->Observe(measured);
    search->Observe(measured);  // Told twice.
    known.insert(candidate.trace_digest);
  }
  EXPECT_EQ(updates, 2);
  for (const MeasureCandidate& candidate : search->Propose(32)) EXPECT_EQ(known.count(candidate.trace_digest), 0u);
}

TEST(EvolutionarySearch, LearnsOnceFromAllThatItRecallsAndLeavesOutWhatIsExcluded) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  std::vector<ModelReport> reports;
  EvolutionaryOptions options = Small();
  options.on_update = [&](const ModelReport& report) { reports.push_back(report); };
  const auto search = MakeEvolutionarySearch(task, *model, 5, options);
  SimulatedDevice device({});
  std::vector<MeasuredCandidate> recalled;
  for (const MeasureCandidate& candidate : MakeRandomSearch(task, 4)->Propose(40))
    recalled.push_back(device.Measure(candidate));
  // What it would propose next, had it not been measured, too.
  std::vector<Digest> excluded;
  for (const MeasureCandidate& candidate : MakeEvolutionarySearch(task, *model, 5, Small())->Propose(32))
    excluded.push_back(candidate.trace_digest);
  std::sort(excluded.begin(), excluded.end());
  search->Exclude(excluded);
  for (const MeasureCandidate& candidate : search->Propose(32))
    EXPECT_FALSE(std::binary_search(excluded.begin(), excluded.end(), candidate.trace_digest));
  search->Recall(recalled);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].batch, 40u);
}

TEST(EvolutionarySearch, IgnoresResultsThatAreNotOfThisWorkload) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto search = MakeEvolutionarySearch(task, *model, 4, Small());
  search->Observe({Sha256("x"), "{ no trace", MeasuredCandidate::Outcome::kTimed, 1});
  search->Observe(
      {Sha256("y"), R"([[["GetBlock",[],["nowhere","main"],["b0"]]],[]])", MeasuredCandidate::Outcome::kTimed, 1});
  EXPECT_EQ(search->Propose(4).size(), 4u);
}

MeasureCandidate DrawOfLastSketch(const TuneTask& task) {
  const auto search = MakeRandomSearch(task, 2);
  for (;;) {
    MeasureCandidate candidate = search->Propose(1).at(0);
    if (FindSketch(task.sketches, candidate.trace) + 1 == static_cast<int>(task.sketches.size())) return candidate;
  }
}

// A task without the last of its sketches, and the fastest of all candidates, which is of that one.
struct ForeignBest {
  TuneTask task = MakeTestTask(kConvBiasAddRelu);
  const MeasureCandidate best = DrawOfLastSketch(task);
  ForeignBest() { task.sketches.pop_back(); }
  // Of 64 proposals, those that are of no sketch of the task.
  int CountForeign() const {
    const std::unique_ptr<CostModel> model = MakeDraftModel();
    const auto search = MakeEvolutionarySearch(task, *model, 4, Small());
    search->Observe({best.trace_digest, best.trace_json, MeasuredCandidate::Outcome::kTimed, 1});
    const std::vector<MeasureCandidate> proposed = search->Propose(64);
    EXPECT_EQ(proposed.size(), 64u);
    return static_cast<int>(std::count_if(proposed.begin(), proposed.end(), [&](const MeasureCandidate& candidate) {
      return FindSketch(task.sketches, candidate.trace) < 0;
    }));
  }
};

TEST(EvolutionarySearch, BreedsFromOtherSpacesUnlessTheTaskKeepsToItsSketches) {
  ForeignBest foreign;
  EXPECT_GT(foreign.CountForeign(), 0);
  foreign.task.keeps_to_sketches = true;
  EXPECT_EQ(foreign.CountForeign(), 0);
}

// Proposals of each sketch in 6 rounds of 16, ranked by the draft alone; candidates of sketch `failing` fail.
std::vector<int> CountProposals(const TuneTask& task, int failing) {
  const std::unique_ptr<CostModel> model = MakeDraftModel();
  const auto search = MakeEvolutionarySearch(task, *model, 4, Small());
  SimulatedDevice device({.failing_share = 0});
  std::vector<int> counts(task.sketches.size());
  for (int round = 0; round < 6; ++round) {
    for (const MeasureCandidate& candidate : search->Propose(16)) {
      const int sketch = FindSketch(task.sketches, candidate.trace);
      ++counts.at(static_cast<size_t>(sketch));
      MeasuredCandidate measured = device.Measure(candidate);
      if (sketch == failing) measured.outcome = MeasuredCandidate::Outcome::kFailed;
      search->Observe(measured);
    }
  }
  return counts;
}

TEST(EvolutionarySearch, GivesEachSketchTrialsWhateverTheDraftThinksOfIt) {
  TuneTask task = MakeTestTask(kConvBiasAddRelu);
  const std::vector<int> starved = CountProposals(task, -1);
  const auto last = std::min_element(starved.begin(), starved.end());
  ASSERT_LT(*last, kTrialsPerSketch) << "else this test shows nothing";
  task.keeps_to_sketches = true;
  for (const int count : CountProposals(task, -1)) EXPECT_GE(count, kTrialsPerSketch);
  const auto failing = static_cast<size_t>(last - starved.begin());
  EXPECT_GE(CountProposals(task, static_cast<int>(failing))[failing], kTrialsPerSketch + kForgivenFailures);
}

TEST(EvolutionarySearch, EndsWhereTheSpaceEnds) {
  const TuneTask task = MakeTestTask(kElementwise);  // Nothing to sample.
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto search = MakeEvolutionarySearch(task, *model, 1, Small());
  EXPECT_EQ(search->Propose(8).size(), task.sketches.size());
  EXPECT_TRUE(search->Propose(8).empty());
}

TEST(EvolutionarySearch, GoesOnWhenEverythingFails) {
  const TuneTask task = MakeTestTask(kMatmulRelu);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto search = MakeEvolutionarySearch(task, *model, 1, Small());
  for (int round = 0; round < 3; ++round) {
    const std::vector<MeasureCandidate> candidates = search->Propose(16);
    EXPECT_EQ(candidates.size(), 16u);
    for (const MeasureCandidate& candidate : candidates) {
      search->Observe({candidate.trace_digest, candidate.trace_json, MeasuredCandidate::Outcome::kFailed, 0});
    }
  }
}

}  // namespace
}  // namespace lathe
