// Random primitives on random programs: the interpreter says whether a schedule still computes what the program did.
// LATHE_SEED=N repeats one case; LATHE_PROPERTY_RUNS=N bounds how many are tried.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "compiler/script/printer.h"
#include "tests/compiler/random_schedule/random_primitive.h"
#include "tests/compiler/random_schedule/scheduled_program.h"
#include "tests/compiler/random_schedule/shrink.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

Finding JudgeSchedule(const RandomProgram& program, const Schedule& schedule, uint64_t seed) {
  const std::vector<Expectation> expectations = Expect(program, seed);
  if (expectations.empty()) return {};
  const Finding finding = CheckBySteps(schedule.func(), expectations, nullptr);
  return finding.is_fault() ? finding : CheckTrace(program, schedule);
}

class Totals {
 public:
  void Add(const ScheduledProgram& scheduled) {
    for (const auto& [kind, count] : scheduled.accepted) accepted_[kind] += count;
    num_transformed_ += scheduled.num_transformed;
    ++num_programs_;
  }
  void ExpectEnough() const {
    EXPECT_GE(num_transformed_, num_programs_ * 5) << "a schedule has hardly any steps";
    for (const PrimitiveCase& one : PrimitiveCases()) {
      if (one.weight == 0) continue;
      const auto count = accepted_.find(one.kind);
      EXPECT_TRUE(count != accepted_.end() && count->second >= num_programs_ / 100)
          << one.kind << " is hardly ever accepted";
    }
  }
  std::string ToString() const {
    std::string text = fmt::format("{} programs, {} accepted transformations:", num_programs_, num_transformed_);
    for (const auto& [kind, count] : accepted_) text += fmt::format(" {} {}", kind, count);
    return text;
  }

 private:
  std::map<std::string_view, int> accepted_;
  int num_transformed_ = 0, num_programs_ = 0;
};

std::string Describe(const ScheduledProgram& scheduled, uint64_t seed) {
  return DescribeShrunk(
      scheduled.program, scheduled.schedule.trace(),
      [&](const RandomProgram& program, const Schedule& schedule) { return JudgeSchedule(program, schedule, seed); });
}

Finding TrySeed(uint64_t seed, Totals& totals) {
  const ScheduledProgram scheduled = MakeScheduledProgram(seed);
  totals.Add(scheduled);
  if (scheduled.refusal.is_fault()) {
    const std::string trace = scheduled.schedule.trace().ToPython();
    return {scheduled.refusal.stage,
            fmt::format("{}, after\n{}\n{}", scheduled.refusal.what, Print(scheduled.program.func), trace)};
  }
  Finding finding = JudgeSchedule(scheduled.program, scheduled.schedule, seed);
  if (finding.is_fault()) finding.what += "\n" + Describe(scheduled, seed);
  return finding;
}

TEST(ScheduleProperty, RandomSchedulesComputeWhatTheProgramDid) {
  constexpr int kUsual = 2000;
  const SeedRange seeds = SeedsToTry(kUsual);
  Totals totals;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const SeedOnCrash note(seed);
    const Finding finding = TrySeed(seed, totals);
    ASSERT_FALSE(finding.is_fault()) << fmt::format("LATHE_SEED={} {}: {}", seed, finding.stage, finding.what);
  }
  std::puts(totals.ToString().c_str());
  if (seeds.count >= kUsual) totals.ExpectEnough();
}

// The calls before the one that ends the process, or nothing where none does.
std::string DescribeCrashOfACall(uint64_t seed) {
  for (int calls = 1; calls <= kCallsPerProgram; ++calls) {
    const auto make = [&] { return MakeScheduledProgram(seed, calls).refusal; };
    if (RunInChild(make).stage != "crash") continue;
    const ScheduledProgram before = MakeScheduledProgram(seed, calls - 1);
    return fmt::format("call {} crashes after\n{}\n{}", calls, Print(before.program.func),
                       before.schedule.trace().ToPython());
  }
  return "";
}

// What is wrong and where, for all seeds, crashes included: LATHE_FIRST_SEED=0 LATHE_NUM_SEEDS=1000
// --gtest_also_run_disabled_tests --gtest_filter=*ListsAllFailures
TEST(ScheduleProperty, DISABLED_ListsAllFailures) {
  const SeedRange seeds = SeedsToTry(1000);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    Totals totals;
    Finding finding = RunInChild([&] { return TrySeed(seed, totals); });
    if (!finding.is_fault()) continue;
    if (finding.stage == "crash") {
      const std::string call = DescribeCrashOfACall(seed);
      finding.what += "\n" + (call.empty() ? Describe(MakeScheduledProgram(seed), seed) : call);
    }
    std::puts(fmt::format("#### LATHE_SEED={} {}: {}", seed, finding.stage, finding.what).c_str());
  }
}

TEST(ScheduleProperty, EveryInstructionKindHasACase) {
  for (const InstructionKind& kind : InstructionKinds()) {
    const std::span<const PrimitiveCase> cases = PrimitiveCases();
    EXPECT_TRUE(
        std::any_of(cases.begin(), cases.end(), [&](const PrimitiveCase& one) { return one.kind == kind.name; }))
        << kind.name << " has no case in tests/compiler/random_schedule/random_primitive.cc";
  }
}

}  // namespace
}  // namespace lathe
