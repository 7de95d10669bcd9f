// Random schedules of random programs, lowered and compiled: generated code gives the bits that the program as written
// gives in the interpreter. LATHE_SEED=N repeats one case; LATHE_PROPERTY_RUNS=N bounds how many are tried.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstring>

#include "compiler/script/printer.h"
#include "tests/compiler/codegen/loaded_kernels.h"
#include "tests/compiler/random_schedule/scheduled_program.h"
#include "tests/compiler/random_schedule/shrink.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

constexpr int kBatch = 40;  // Compiled into one artifact: linking is what costs.
constexpr size_t kGuard = 64;

struct Case {
  uint64_t seed;
  ScheduledProgram scheduled;
  std::vector<Expectation> expectations;
  PrimFunc lowered;
};

// An argument in memory with a zone before and after it that a kernel must not touch.
class GuardedMemory {
 public:
  explicit GuardedMemory(const Tensor& tensor) : size_(tensor.data.size()), memory_(size_ + 2 * kGuard, kPattern) {
    std::copy(tensor.data.begin(), tensor.data.end(), memory_.begin() + kGuard);
  }
  void* data() { return memory_.begin() + kGuard; }
  void CopyTo(Tensor& tensor) { std::copy_n(memory_.begin() + kGuard, size_, tensor.data.begin()); }
  bool IsIntact() {
    const auto is_pattern = [](std::byte b) { return b == kPattern; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_pattern) &&
           std::all_of(memory_.begin() + kGuard + size_, memory_.end(), is_pattern);
  }

 private:
  static constexpr std::byte kPattern{0x5a};
  size_t size_;
  AlignedArray<std::byte> memory_;
};

Finding RunKernel(LatheKernel kernel, const Case& one, const Expectation& expectation) {
  std::vector<Tensor> actual = expectation.arguments;
  std::vector<GuardedMemory> memory;
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (one.scheduled.program.roles[i].kind == ParamRole::Kind::kExtent)
      scalars.push_back(expectation.symbol);
    else
      memory.emplace_back(actual[i]);
  }
  for (GuardedMemory& argument : memory) buffers.push_back(argument.data());
  scalars.push_back(expectation.symbol);  // After the scalar parameters: the symbolic extents.
  TestContext context;
  const int32_t code = kernel(&context.context, buffers.data(), scalars.data());
  if (code != 0) return {"kernel", fmt::format("returned {}: {}", code, context.failure)};
  if (context.live_workspaces != 0) return {"kernel", fmt::format("{} workspaces are left", context.live_workspaces)};
  size_t position = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (one.scheduled.program.roles[i].kind == ParamRole::Kind::kExtent) continue;
    if (!memory[position].IsIntact()) return {"kernel", fmt::format("parameter {} was written beyond its ends", i)};
    memory[position++].CopyTo(actual[i]);
  }
  const std::string difference = DescribeDifference(actual, expectation.results);
  if (difference.empty()) return {};
  return {"kernel", fmt::format("n = {}: {}", expectation.symbol, difference)};
}

Finding RunKernels(const std::vector<Case>& cases, const Target& target, uint64_t* seed) {
  std::vector<PrimFunc> funcs;
  for (const Case& one : cases) {
    funcs.push_back(one.lowered);
    funcs.back().name = fmt::format("k{}", one.seed);
  }
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make(funcs, target);
  if (!kernels.ok()) return {"kernel", kernels.status().ToString()};
  for (size_t k = 0; k < cases.size(); ++k) {
    *seed = cases[k].seed;
    const SeedOnCrash note(*seed);
    for (const Expectation& expectation : cases[k].expectations) {
      const Finding finding = RunKernel(kernels->Find(k, funcs[k].name), cases[k], expectation);
      if (finding.is_fault()) return finding;
    }
  }
  return {};
}

// The whole way of one schedule, for the shrinker.
Finding JudgeKernel(const RandomProgram& program, const Schedule& schedule, uint64_t seed, const Target& target) {
  Case one{seed, {program, schedule}, Expect(program, seed), program.func};
  if (one.expectations.empty()) return {};
  const Finding finding = CheckBySteps(schedule.func(), one.expectations, &one.lowered);
  return finding.is_fault() ? finding : RunKernels({one}, target, &seed);
}

class ScheduledAgreementTest : public testing::TestWithParam<const char*> {
 protected:
  // Interpreter first: what is wrong there already is no fault of the code generator.
  void AddCase(uint64_t seed) {
    const SeedOnCrash note(seed);
    ScheduledProgram scheduled = MakeScheduledProgram(seed);
    std::vector<Expectation> expectations = Expect(scheduled.program, seed);
    PrimFunc lowered = scheduled.program.func;
    const Finding finding = CheckBySteps(scheduled.schedule.func(), expectations, &lowered);
    if (finding.is_fault()) return Fail(seed, scheduled, finding);
    cases_.push_back({seed, std::move(scheduled), std::move(expectations), std::move(lowered)});
    if (cases_.size() == kBatch) RunBatch();
  }
  void RunBatch() {
    uint64_t seed = 0;
    const Finding finding = RunKernels(cases_, target_, &seed);
    const auto failed = std::find_if(cases_.begin(), cases_.end(), [&](const Case& one) { return one.seed == seed; });
    if (finding.is_fault()) Fail(seed, (failed == cases_.end() ? cases_.front() : *failed).scheduled, finding);
    num_compared_ += cases_.size();
    cases_.clear();
  }
  void Fail(uint64_t seed, const ScheduledProgram& scheduled, const Finding& finding) {
    ADD_FAILURE() << fmt::format("LATHE_SEED={} {}: {}\n", seed, finding.stage, finding.what)
                  << DescribeShrunk(scheduled.program, scheduled.schedule.trace(),
                                    [&](const RandomProgram& program, const Schedule& schedule) {
                                      return JudgeKernel(program, schedule, seed, target_);
                                    });
  }

  const Target target_ = *Target::Parse(GetParam());
  std::vector<Case> cases_;
  size_t num_compared_ = 0;
};

TEST_P(ScheduledAgreementTest, GeneratedCodeGivesTheBitsOfTheProgram) {
  if (DetectHost().triple != "x86_64-linux-gnu") GTEST_SKIP() << "needs an x86-64 machine";
  for (const char* feature : {"avx512f", "avx2"}) {
    if (target_.Has(feature) && !Target::Parse("auto")->Has(feature)) GTEST_SKIP() << "this CPU has no " << feature;
  }
  const SeedRange seeds = SeedsToTry(400, 4);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && !HasFailure(); ++seed) AddCase(seed);
  if (!cases_.empty() && !HasFailure()) RunBatch();
  if (!HasFailure()) {
    EXPECT_EQ(num_compared_, seeds.count);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ScheduledAgreementTest,
                         testing::Values("auto", "llvm -mcpu=x86-64 -mtriple=x86_64-linux-gnu -num-cores=1"),
                         [](const auto& info) { return info.index == 0 ? "Here" : "Plain"; });

}  // namespace
}  // namespace lathe
