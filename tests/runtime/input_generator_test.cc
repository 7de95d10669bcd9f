#include "runtime/input_generator.h"

#include <gmock/gmock.h>

#include <cmath>

namespace lathe {
namespace {

// Golden values: computed from docs/formats/inputs.md by tests/runtime/input_golden.py, not by this code.
struct Golden {
  uint64_t seed;
  uint32_t param;
  int64_t index;
  DType dtype;
  double value;
};
constexpr Golden kGolden[] = {
#include "tests/runtime/input_golden.inc"
};

TEST(InputGenerator, MatchesTheGoldenValues) {
  for (const Golden& g : kGolden) {
    EXPECT_EQ(InputValue(g.seed, g.param, g.dtype, g.index), g.value)
        << g.dtype.Name() << " " << g.seed << " " << g.param << " " << g.index;
  }
}

TEST(InputGenerator, GivesEachElementTheSameValueAloneAndInBulk) {
  std::vector<float> all(1000);
  FillInput(7, 2, kFloat32, all.data(), 0, 1000);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<double>(all[i]), InputValue(7, 2, kFloat32, i));
}

TEST(InputGenerator, AvoidsZeroAndDenormalsAndFillsTheRange) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    double sum = 0, smallest = 1, largest = 0;
    for (int64_t i = 0; i < 20000; ++i) {
      const double value = InputValue(1, 0, dtype, i);
      sum += value;
      smallest = std::min(smallest, std::fabs(value));
      largest = std::max(largest, std::fabs(value));
    }
    EXPECT_LT(std::fabs(sum / 20000), 0.02) << dtype.Name();
    EXPECT_GT(smallest, 0) << dtype.Name();
    EXPECT_GT(largest, 0.98) << dtype.Name();
    EXPECT_LT(largest, 1.0) << dtype.Name();
    EXPECT_GE(smallest, dtype == kFloat16 ? 0x1p-14 : 0x1p-60);
  }
}

TEST(InputGenerator, KeepsIntegersSmall) {
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_LE(std::fabs(InputValue(3, 1, kInt8, i) + 0.5), 7.5);
    EXPECT_LE(std::fabs(InputValue(3, 1, kUInt8, i) - 7.5), 7.5);
    EXPECT_LE(InputValue(3, 1, kBool, i), 1);
  }
}

TEST(Half, RoundTripsEveryFiniteValue) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(std::isfinite(value) ? FloatToHalf(value) : bits, bits);
  }
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f), 0x3c00);  // Ties to even.
}

}  // namespace
}  // namespace lathe
