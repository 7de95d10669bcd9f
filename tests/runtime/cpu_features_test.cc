#include "runtime/cpu_features.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

TEST(CpuFeatures, KnowsTheBaselineOfThisArchitecture) {
#if defined(__x86_64__)
  EXPECT_TRUE(HostHasCpuFeature("sse2"));
  EXPECT_EQ(HostHasCpuFeature("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(HostHasCpuFeature("avx512f"), __builtin_cpu_supports("avx512f") != 0);
#elif defined(__aarch64__)
  EXPECT_TRUE(HostHasCpuFeature("neon"));
#endif
  EXPECT_FALSE(HostHasCpuFeature("sse9"));
  EXPECT_FALSE(AvailableCpus().empty());
  EXPECT_GT(LastLevelCacheBytes(AvailableCpus().front()), 0);
}

TEST(CpuFeatures, ParsesTheKernelsListForm) {
  EXPECT_EQ(ParseCpuList("0-2,5"), (std::vector<int>{0, 1, 2, 5}));
  EXPECT_EQ(ParseCpuList("3"), (std::vector<int>{3}));
  EXPECT_EQ(ParseCpuList("1,x"), (std::vector<int>{1}));
  EXPECT_TRUE(ParseCpuList("9-1").empty());
}

TEST(CpuFeatures, TellsBigCoresFromLittleOnes) {
  EXPECT_TRUE(AreAlike(std::vector<int64_t>{}));
  EXPECT_TRUE(AreAlike(std::vector<int64_t>{0, 0}));  // Nothing is known of them.
  EXPECT_TRUE(AreAlike(std::vector<int64_t>{5'000'000, 5'100'000, 4'900'000}));
  EXPECT_FALSE(AreAlike(std::vector<int64_t>{1024, 1024, 446}));
  EXPECT_GE(CpuSpeed(AvailableCpus().front()), 0);
}

}  // namespace
}  // namespace lathe
