#include "tuner/job/best_check.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::Optional;

Timings Around(double median_ns) {
  return {.median_ns = median_ns, .ci_low_ns = 0.95 * median_ns, .ci_high_ns = 1.05 * median_ns};
}

struct CheckCase {
  const char* name;
  TrialState outcome;
  std::optional<double> median_ns;
  std::optional<std::string> why_gone;
};
class BestCheckTest : public testing::TestWithParam<CheckCase> {};

TEST_P(BestCheckTest, HoldsWithinItsTolerance) {
  TuningRecord best{.trace_digest = Sha256("t"), .trace_json = "t", .seed = 3};
  best.timings = Around(10000);
  BestCheck check(best);
  EXPECT_EQ(check.finalist().trace_digest, best.trace_digest);
  EXPECT_EQ(check.why_gone(), std::nullopt) << "nothing is known yet";
  const auto median_ns = GetParam().median_ns;
  check.Ended(GetParam().outcome, median_ns ? std::optional(Around(*median_ns)) : std::nullopt);
  EXPECT_EQ(check.why_gone(), GetParam().why_gone);
}

INSTANTIATE_TEST_SUITE_P(
    Outcomes, BestCheckTest,
    testing::Values(CheckCase{"Same", TrialState::kOk, 10000, std::nullopt},
                    CheckCase{"Faster", TrialState::kOk, 4000, std::nullopt},
                    CheckCase{"IntervalReachesTheTolerance", TrialState::kOk, 15500, std::nullopt},
                    CheckCase{"Disturbed", TrialState::kNoisy, 40000, std::nullopt},
                    CheckCase{"Slower", TrialState::kOk, 16000, "its best takes 16 us, recorded are 10 us"},
                    CheckCase{"Wrong", TrialState::kWrongResult, std::nullopt, "its best ended as WRONG_RESULT"},
                    CheckCase{"TheFarmFailed", TrialState::kInfraFailed, std::nullopt, std::nullopt}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
