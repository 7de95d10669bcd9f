#include "tests/reference/compare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/reference/tensor_io.h"

namespace lathe::reference {
namespace {

using testing::HasSubstr;

TEST(Compare, AcceptsWhatLiesWithinBothTolerances) {
  const Tensor e = Tensor::Floats({2}, {1000, 0});
  EXPECT_EQ(Compare("y", Tensor::Floats({2}, {1000.9, 1e-8}), e), OkStatus());
}

TEST(Compare, SaysWhereAndByHowMuchTheWorstElementIsOff) {
  const Tensor e = Tensor::Floats({2, 2}, {1, 2, 4, 8}), y = Tensor::Floats({2, 2}, {1, 2.5, 4, 8.5});
  EXPECT_EQ(Compare("logits", y, e, {1e-3, 0}).message(),
            "compare \"logits\" at [0, 1]: 2.5 and expected 2 differ by 0.5, 0.002 allowed; 2 of 4 elements differ");
}

TEST(Compare, NeverTakesNanOrInfinityForANumber) {
  const double inf = INFINITY, nan = std::nan("");
  const auto differ = [](double y, double e) {
    return !Compare("y", Tensor::Floats({}, {y}), Tensor::Floats({}, {e}), {1, 1}).ok();
  };
  EXPECT_TRUE(differ(nan, 1));
  EXPECT_TRUE(differ(1, nan));
  EXPECT_TRUE(differ(inf, 1));
  EXPECT_TRUE(differ(1, inf));
  EXPECT_TRUE(differ(-inf, inf));
  EXPECT_FALSE(differ(nan, nan));
  EXPECT_FALSE(differ(inf, inf));
}

TEST(Compare, DemandsTypeAndShape) {
  EXPECT_EQ(Compare("y", Tensor::Floats({2, 1}, {0, 0}), Tensor::Ints({2}, {0, 0})).message(),
            "compare \"y\": float32 [2, 1] and expected int64 [2]");
}

TEST(Compare, TakesIntegersExactly) {
  EXPECT_THAT(Compare("y", Tensor::Ints({2}, {5, 1000001}), Tensor::Ints({2}, {5, 1000000})).message(),
              HasSubstr("at [1]: 1000001 and expected 1000000; 1 of 2 elements differ"));
}

TEST(SmallFloats, ReadBackEveryBitPattern) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const uint16_t pattern = static_cast<uint16_t>(bits);
    const double half = HalfToDouble(pattern), brain = Bfloat16ToDouble(pattern);
    EXPECT_TRUE(std::isnan(half) || DoubleToHalf(half) == pattern) << pattern;
    EXPECT_TRUE(std::isnan(brain) || DoubleToBfloat16(brain) == pattern) << pattern;
  }
  EXPECT_EQ(DoubleToHalf(65520), 0x7c00);  // Rounds up to infinity.
  EXPECT_EQ(DoubleToHalf(65519), 0x7bff);
  EXPECT_EQ(DoubleToHalf(1 + 0x1p-11), 0x3c00);  // Ties go to even.
  EXPECT_EQ(HalfToDouble(0x0001), 0x1p-24);
}

TEST(TensorFiles, ReadBackWhatWasWritten) {
  const std::string path = testing::TempDir() + "/tensor.pb";
  for (const Tensor& tensor : {Tensor::Floats({2, 1}, {0.5, -3}), Tensor::Floats({1}, {1.5}, DataType::kFloat16),
                               Tensor::Ints({3}, {-1, 0, 1}), Tensor::Ints({2}, {1, 0}, DataType::kBool),
                               Tensor::Floats({0, 4}, {}), Tensor::Ints({}, {200}, DataType::kUint8)}) {
    ASSERT_EQ(SaveTensor(tensor, "t", path), OkStatus());
    const StatusOr<Tensor> read = LoadTensor(path);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(Compare("t", *read, tensor, {0, 0}), OkStatus());
  }
}

TEST(TensorFiles, NameTheFileThatCannotBeRead) {
  EXPECT_THAT(LoadTensor("/nonexistent.pb").status().message(), HasSubstr("open /nonexistent.pb"));
}

}  // namespace
}  // namespace lathe::reference
