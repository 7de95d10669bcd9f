#include "tuner/measure/measure_spec.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

v1::MeasureResult ResultOf(std::initializer_list<double> samples_ns) {
  v1::MeasureResult result;
  result.set_status(v1::MEASURE_STATUS_OK);
  result.set_module_digest(std::string(Sha256("module").raw()));
  for (const double sample : samples_ns) result.add_samples_ns(sample);
  return result;
}

TEST(ToRunResult, TakesStatisticsFromTheSamplesWhateverTheDeviceMakesOfThem) {
  v1::MeasureResult result = ResultOf({110, 90, 100, 120, 95});
  result.mutable_stats()->set_median_ns(1);
  result.mutable_stats()->set_min_ns(1);
  const Timings timings = *ToRunResult(result, 7)->timings;
  EXPECT_EQ(timings.median_ns, 100);
  EXPECT_EQ(timings.min_ns, 90);
  EXPECT_EQ(timings.ci_low_ns, 85);
  EXPECT_EQ(timings.ci_high_ns, 115);
  EXPECT_THAT(timings.samples_ns, testing::ElementsAre(110, 90, 100, 120, 95));
}

TEST(ToRunResult, HasNoTimeWithoutSamples) {
  v1::MeasureResult result = ResultOf({});
  result.mutable_stats()->set_median_ns(1);
  EXPECT_EQ(ToRunResult(result, 7)->timings->median_ns, 0) << "the Store refuses it";
}

}  // namespace
}  // namespace lathe
