// Products in the tile registers of AMX: what the rule of the space makes of a workload, down to machine code.
#include <gmock/gmock.h>

#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "runtime/cpu_features.h"
#include "tests/compiler/codegen/amx_kernels.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/search/search_strategy.h"
#include "tuner/space/space_generator.h"

namespace lathe {
namespace {

class AmxRuleTest : public testing::TestWithParam<const char*> {};
TEST_P(AmxRuleTest, MakesCodeThatComputesWhatTheProgramDoes) {
  if (DetectHost().triple != "x86_64-linux-gnu" || !HostHasCpuFeature("avx2")) GTEST_SKIP() << "needs AVX2";
  TuneTask task{{}, *ParsePrimFunc(GetParam(), "workload.py"), *Target::Parse(kWithTiles), {}, 0};
  task.sketches = *MakePostOrderApply()->Generate(task.func, task.target);
  Random random(5);
  std::vector<Tensor> expected = RandomFactors(task.func, random);
  const std::vector<Tensor> before = expected;
  ASSERT_EQ(Interpret(task.func, expected), OkStatus());
  int num_run = 0;
  for (const Sketch& sketch : task.sketches) {
    if (sketch.trace.ToPython().find("amx_tdp") == std::string::npos) continue;
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch.trace, seed);
      if (!candidate.ok()) continue;
      const StatusOr<PrimFunc> lowered = Lower(candidate->func);
      ASSERT_TRUE(lowered.ok()) << lowered.status().ToString();
      const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&*lowered, 1}, task.target);
      ASSERT_TRUE(kernels.ok()) << "seed " << seed << ": " << kernels.status().ToString();
      const AmxEmulator emulator;
      EXPECT_EQ(RunProduct(*kernels, before), BytesOf(expected.back())) << "seed " << seed;
      EXPECT_GT(AmxEmulator::num_products(), HostHasCpuFeature("amx-tile") ? -1 : 0);
      EXPECT_FALSE(AmxEmulator::is_configured());
      ++num_run;
    }
  }
  EXPECT_GT(num_run, 0);
}
const std::string kLargeProduct = NarrowProduct("uint8", "int8", "int32", false, 64, 128, 256),
                  kLargeBf16 = NarrowProduct("bfloat16", "bfloat16", "float32", true, 28, 64, 96);
INSTANTIATE_TEST_SUITE_P(Programs, AmxRuleTest,
                         testing::Values(kLargeProduct.c_str(), kLargeBf16.c_str(), kNarrowConv));

// So that a product need not wait for the one before it, and each factor is loaded half as often.
TEST(AmxRule, HasTwoByTwoTilesOfSumsInRegisters) {
  TuneTask task{{}, *ParsePrimFunc(kLargeProduct, "workload.py"), *Target::Parse(kWithTiles), {}, 0};
  task.sketches = *MakePostOrderApply()->Generate(task.func, task.target);
  const auto sketch = std::find_if(task.sketches.begin(), task.sketches.end(), [](const Sketch& each) {
    return each.trace.ToPython().find("amx_tdp") != std::string::npos;
  });
  ASSERT_NE(sketch, task.sketches.end());
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const StatusOr<MeasureCandidate> candidate = MakeCandidate(task, sketch->trace, seed);
    ASSERT_TRUE(candidate.ok()) << candidate.status().ToString();
    const PrimFunc lowered = *Lower(candidate->func);
    const StatusOr<std::string> code = PrintCode({&lowered, 1}, task.target, CodeText::kAssembly);
    ASSERT_TRUE(code.ok()) << code.status().ToString();
    for (const char* sums : {"%tmm0", "%tmm1", "%tmm2", "%tmm3"})
      EXPECT_THAT(*code, testing::ContainsRegex(fmt::format("tdpbusd.*{}", sums))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lathe
