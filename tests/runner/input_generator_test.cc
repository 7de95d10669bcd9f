#include "runner/input_generator.h"

#include <gmock/gmock.h>

#include <cmath>

namespace lathe {
namespace {

// Golden values: computed from docs/formats/inputs.md by tests/runner/input_golden.py, not by this code.
struct Golden {
  uint64_t seed;
  uint32_t param;
  int64_t index;
  DType dtype;
  InputRange range;
  double value;
};
constexpr Golden kGolden[] = {
#include "tests/runner/input_golden.inc"
};

TEST(InputGenerator, MatchesTheGoldenValues) {
  for (const Golden& g : kGolden) {
    EXPECT_EQ(InputValue(g.seed, g.param, g.dtype, g.range, g.index), g.value)
        << g.dtype.Name() << " " << g.seed << " " << g.param << " " << g.index;
  }
}

TEST(InputGenerator, GivesEachElementTheSameValueAloneAndInBulk) {
  std::vector<float> all(1000);
  FillInput(7, 2, kFloat32, {}, all.data(), 0, 1000);
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(static_cast<double>(all[i]), InputValue(7, 2, kFloat32, {}, i));
}

TEST(InputGenerator, AvoidsZeroAndDenormalsAndFillsTheRange) {
  for (const DType dtype : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    double sum = 0, smallest = 1, largest = 0;
    for (int64_t i = 0; i < 20000; ++i) {
      const double value = InputValue(1, 0, dtype, {}, i);
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

struct RangeCase {
  DType dtype;
  InputRange range;
};
class IntegerInputs : public testing::TestWithParam<RangeCase> {};
TEST_P(IntegerInputs, FillTheirRangeEvenlyAndStayInIt) {
  const auto& [dtype, range] = GetParam();
  double sum = 0, smallest = 1e300, largest = -1e300;
  for (int64_t i = 0; i < 20000; ++i) {
    const double value = InputValue(3, 1, dtype, range, i);
    sum += value;
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
  }
  const double low = double(range.low), high = double(range.high), width = high - low;
  EXPECT_NEAR(sum / 20000, (low + high) / 2, 0.02 * width);
  EXPECT_GE(smallest, low);
  EXPECT_LE(smallest, low + width / 1000);
  EXPECT_LE(largest, high);
  EXPECT_GE(largest, high - width / 1000);
}
INSTANTIATE_TEST_SUITE_P(All, IntegerInputs,
                         testing::Values(RangeCase{kInt8, {-128, 127}}, RangeCase{kUInt8, {0, 255}},
                                         RangeCase{kInt32, DefaultInputRange(kInt32)}, RangeCase{kInt32, {0, 6}},
                                         RangeCase{kInt64, DefaultInputRange(kInt64)}, RangeCase{kInt64, {5, 5}},
                                         RangeCase{kInt64, {-4, 1000}}),
                         [](const auto& info) { return info.param.dtype.Name() + "_" + std::to_string(info.index); });

TEST(InputGenerator, DrawsNarrowIntegersFromAllOfTheirType) {
  EXPECT_EQ(DefaultInputRange(kInt8), (InputRange{-128, 127}));
  EXPECT_EQ(DefaultInputRange(kUInt8), (InputRange{0, 255}));
  EXPECT_EQ(DefaultInputRange({DTypeCode::kInt, 16, 1}), (InputRange{-32768, 32767}));
  EXPECT_EQ(DefaultInputRange(kInt32), (InputRange{-(1 << 20), (1 << 20) - 1}));
  EXPECT_EQ(DefaultInputRange(kInt64), (InputRange{-(int64_t{1} << 40), (int64_t{1} << 40) - 1}));
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
