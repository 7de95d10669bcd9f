#include "runner/peak.h"

#include <gmock/gmock.h>

#include "runtime/cpu_features.h"

namespace lathe {
namespace {

// By a clock that says that every loop took equally long, the figures tell what was counted.
TEST(MachinePeak, CountsTwiceAsMuchForNumbersHalfAsWide) {
  static constexpr int64_t kTick = 1'000'000;
  static int64_t now = 0;
  const MachinePeak peak = MeasureMachinePeak(/*ns_per_figure=*/3 * kTick, [] { return now += kTick; });
  EXPECT_GT(peak.gflops_f64, 0);
  EXPECT_DOUBLE_EQ(peak.gflops_f32, peak.vector_bits > 64 ? 2 * peak.gflops_f64 : peak.gflops_f64);
  EXPECT_GT(peak.read_gb_per_s, 0);
}

// As many operations per instruction as its description says: a tick that every loop takes shows the counts.
TEST(ComputeRoofs, CountWhatTheInstructionsDo) {
  static constexpr int64_t kTick = 1'000'000;
  static int64_t now = 0;
  const std::vector<ComputeRoof> roofs = MeasureComputeRoofs(/*ns_per_figure=*/3 * kTick, [] { return now += kTick; });
  const auto per_bit = [](const ComputeRoof& roof) { return roof.gops / roof.vector_bits; };
  int num_present = 0;
  for (const ComputeRoof& roof : roofs) {
    EXPECT_EQ(roof.is_present, roof.gops > 0) << roof.types << " by " << roof.instructions;
    EXPECT_TRUE(!roof.is_present || HostHasCpuFeature(roof.instructions)) << roof.instructions;
    num_present += roof.is_present;
    if (roof.types == "uint8*int8" && roof.is_present && roofs[0].is_present &&
        roof.vector_bits == roofs[0].vector_bits) {
      EXPECT_DOUBLE_EQ(per_bit(roof), 4 * per_bit(roofs[0]));
    }
  }
  EXPECT_GE(num_present, 2);
}

TEST(CopyRoofs, EndWithMemory) {
  static int64_t now = 0;
  const std::vector<CopyRoof> roofs = MeasureCopyRoofs(/*ns_per_figure=*/1, [] { return now += 1'000'000; });
  ASSERT_FALSE(roofs.empty());
  EXPECT_EQ(roofs.back().level, "memory");
  for (const CopyRoof& roof : roofs) EXPECT_GT(roof.gb_per_s, 0) << roof.level;
}

}  // namespace
}  // namespace lathe
