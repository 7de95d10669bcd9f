// What a round of search costs without a device. Bars: features <= 0.3 ms, 1,000 predictions <= 10 ms, an update at
// some thousand rows <= 0.3 s, a proposal of 16 well below 1 s.
#include <benchmark/benchmark.h>

#include "compiler/ir/structural.h"
#include "tests/tuner/search/simulated_device.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/decisions.h"
#include "tuner/search/evolutionary_search.h"
#include "tuner/search/population.h"
#include "tuner/space/constraints.h"

namespace lathe {
namespace {

const TuneTask& TaskOf(int64_t workload) {
  static const TuneTask matmul = MakeTestTask(kMatmulRelu), conv = MakeTestTask(kConvBiasAddRelu);
  return workload == 0 ? matmul : conv;
}

void BM_ReplayAndCheck(benchmark::State& state) {
  const TuneTask& task = TaskOf(state.range(0));
  uint64_t seed = 0, valid = 0;
  const StatusOr<Schedule> unscheduled = Schedule::Create(task.func);
  for (auto _ : state) {
    Schedule schedule = *unscheduled;
    schedule.Seed(++seed);
    const bool ok = task.sketches[seed % task.sketches.size()].trace.Replay(schedule).ok() &&
                    CheckConstraints(schedule, task.target).ok();
    valid += ok;
  }
  state.counters["per_s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["valid_share"] = static_cast<double>(valid) / static_cast<double>(state.iterations());
}
BENCHMARK(BM_ReplayAndCheck)->Arg(0)->Arg(1);

// Distinct candidates with features and score: drawn blindly (0), or bred from such in rounds (1). Bar: >= 5,000 per
// second.
void BM_Candidates(benchmark::State& state) {
  const TuneTask& task = TaskOf(1);
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  MemberFactory factory(task);
  Random random(1);
  uint64_t made = 0;
  std::vector<Member> parents;
  const auto draw = [&] {
    const int sketch = static_cast<int>(random.Below(task.sketches.size()));
    return factory.Make(sketch, task.sketches[static_cast<size_t>(sketch)].trace, random.Next());
  };
  while (parents.size() < 128)
    if (std::optional<Member> member = draw()) parents.push_back(*std::move(member));
  for (auto _ : state) {
    std::vector<Member> members;
    std::vector<PlannedMember> planned;
    for (int i = 0; i < 128; ++i) {
      if (state.range(0) == 0) {
        if (std::optional<Member> member = draw()) members.push_back(*std::move(member));
      } else {
        const Member& parent = parents[random.Below(parents.size())];
        if (std::optional<ScheduleTrace> trace = Mutate(parent.trace, {}, random))
          planned.push_back({parent.sketch, *std::move(trace)});
      }
    }
    for (Member& member : factory.MakeAll(std::move(planned), random)) members.push_back(std::move(member));
    ScoreMembers(*model, members);
    made += members.size();
    if (state.range(0) == 1)  // The next generation.
      for (Member& member : members) parents[random.Below(parents.size())] = std::move(member);
  }
  state.counters["per_s"] = benchmark::Counter(static_cast<double>(made), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_Candidates)->Arg(0)->Arg(1)->Iterations(64);

void BM_StructuralHash(benchmark::State& state) {
  const MeasureCandidate candidate = MakeRandomSearch(TaskOf(state.range(0)), 1)->Propose(1).at(0);
  for (auto _ : state) benchmark::DoNotOptimize(StructuralHash(candidate.func));
}
BENCHMARK(BM_StructuralHash)->Arg(0)->Arg(1);

void BM_ExtractFeatures(benchmark::State& state) {
  const TuneTask& task = TaskOf(state.range(0));
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, 1)->Propose(32);
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(ExtractFeatures(candidates[i++ % candidates.size()].func, task.target));
  state.counters["per_s"] = benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(BM_ExtractFeatures)->Arg(0)->Arg(1);

// Rows like real ones: those of candidates, over and over, with their columns shifted a little.
std::vector<CostSample> Samples(size_t count) {
  const TuneTask& task = TaskOf(1);
  const std::vector<MeasureCandidate> candidates = MakeRandomSearch(task, 1)->Propose(256);
  const SimulatedDevice device({});
  std::vector<CostSample> samples;
  Random random(1);
  for (size_t i = 0; i < count; ++i) {
    const MeasureCandidate& candidate = candidates[i % candidates.size()];
    CostSample sample{ExtractFeatures(candidate.func, task.target), 1, CostSample::Outcome::kTimed,
                      device.TrueNs(candidate.trace)};
    for (float& value : sample.features) value += static_cast<float>(0.1 * random.Unit());
    samples.push_back(std::move(sample));
  }
  return samples;
}

void BM_UpdateModel(benchmark::State& state) {
  const std::vector<CostSample> samples = Samples(static_cast<size_t>(state.range(0)));
  const std::span<const CostSample> all(samples);
  for (auto _ : state) {
    state.PauseTiming();
    const std::unique_ptr<CostModel> model = MakeXgbModel();
    CHECK(model->Update(all.first(all.size() - 16)).ok());
    state.ResumeTiming();
    CHECK(model->Update(all.last(16)).ok());  // Adds trees.
  }
}
BENCHMARK(BM_UpdateModel)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Iterations(3);

void BM_RefitModel(benchmark::State& state) {
  const std::vector<CostSample> samples = Samples(static_cast<size_t>(state.range(0)));
  const std::span<const CostSample> all(samples);
  for (auto _ : state) {
    state.PauseTiming();
    const std::unique_ptr<CostModel> model = MakeXgbModel({.max_trees = 0});  // Every update refits.
    CHECK(model->Update(all.first(all.size() - 16)).ok());
    state.ResumeTiming();
    CHECK(model->Update(all.last(16)).ok());
  }
}
BENCHMARK(BM_RefitModel)->Arg(1000)->Arg(4000)->Unit(benchmark::kMillisecond)->Iterations(3);

void BM_Predict1000(benchmark::State& state) {
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const std::vector<CostSample> samples = Samples(1000);
  std::vector<FeatureRow> rows;
  for (const CostSample& sample : samples) rows.push_back(sample.features);
  CHECK(model->Update(samples).ok());
  for (int i = 0; i < 8; ++i)
    CHECK(model->Update(std::span<const CostSample>(samples).first(16)).ok());  // As many trees as it ever has.
  for (auto _ : state) benchmark::DoNotOptimize(model->Predict(rows));
}
BENCHMARK(BM_Predict1000)->Unit(benchmark::kMillisecond);

// Rounds of 16, the first left out.
void BM_Propose16(benchmark::State& state) {
  const TuneTask& task = TaskOf(state.range(0));
  const std::unique_ptr<CostModel> model = MakeXgbModel();
  const auto search = MakeEvolutionarySearch(task, *model, 1);
  SimulatedDevice device({});
  const auto observe = [&](const std::vector<MeasureCandidate>& candidates) {
    for (const MeasureCandidate& candidate : candidates) search->Observe(device.Measure(candidate));
  };
  observe(search->Propose(16));
  for (auto _ : state) {
    const std::vector<MeasureCandidate> candidates = search->Propose(16);
    state.PauseTiming();
    observe(candidates);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Propose16)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(8);

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
