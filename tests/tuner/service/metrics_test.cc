#include "tuner/service/metrics.h"

#include <gmock/gmock.h>

#include <regex>

namespace lathe {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

FarmStatistics SomeFarm() {
  FarmStatistics farm;
  farm.devices = {{{"pi4", "free"}, 2}, {{"pi4", "drained"}, 1}};
  farm.view.workers = {{.name = "build-1", .slots = 8, .tasks = 5, .building = 3}};
  farm.open_trials[TrialState::kMeasureQueued] = 7;
  farm.counters.measurements[TrialState::kOk] = 12;
  farm.counters.builds[TrialState::kBuildError] = 1;
  farm.counters.checks = 4;
  farm.counters.quarantines = 1;
  farm.counters.canary_drift["pi4"] = -0.04;
  farm.counters.failed_attempts[InfraFailure::kDeviceLost] = 2;
  farm.counters.result_to_commit.Add(milliseconds(3));
  farm.counters.result_to_commit.Add(milliseconds(30));
  return farm;
}

TEST(Metrics, SayWhatTheFarmCounts) {
  const std::string text = RenderMetrics(SomeFarm(), {.resident_bytes = 1000, .open_files = 20});
  for (const char* line : {
           "lathe_devices{key=\"pi4\",state=\"free\"} 2\n",
           "lathe_devices{key=\"pi4\",state=\"drained\"} 1\n",
           "lathe_worker_slots 8\n",
           "lathe_device_checks_total 4\n",
           "lathe_quarantines_total 1\n",
           "lathe_canary_drift_ratio{key=\"pi4\"} -0.04\n",
           "lathe_open_trials{state=\"meas_queued\"} 7\n",
           "lathe_open_trials{state=\"running\"} 0\n",
           "lathe_attempts_total{phase=\"measure\",outcome=\"ok\"} 12\n",
           "lathe_attempts_total{phase=\"build\",outcome=\"build_error\"} 1\n",
           "lathe_result_commit_seconds_bucket{le=\"0.002\"} 0\n",
           "lathe_result_commit_seconds_bucket{le=\"0.005\"} 1\n",
           "lathe_result_commit_seconds_bucket{le=\"+Inf\"} 2\n",
           "lathe_result_commit_seconds_sum 0.033\n",
           "lathe_result_commit_seconds_count 2\n",
           "process_resident_memory_bytes 1000\n",
           "lathe_in_trouble 0\n",
       })
    EXPECT_THAT(text, HasSubstr(line));
}

// Each line is a comment or a sample, and each sample follows the type of its family.
TEST(Metrics, AreInPrometheusForm) {
  const std::string text = RenderMetrics(SomeFarm(), ProcessFacts::Read());
  static const std::regex kSample(R"(([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+-]+)");
  std::istringstream lines(text);
  std::string line, family;
  std::set<std::string> families;
  while (std::getline(lines, line)) {
    if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family << " is there twice";
      continue;
    }
    if (line.starts_with("# HELP ")) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
    EXPECT_TRUE(match[1].str().starts_with(family)) << line;
  }
  EXPECT_GT(families.size(), 15u);
}

TEST(Metrics, HaveAsManyRowsForAThousandKeysAsForFifty) {
  FarmStatistics farm;
  for (int i = 0; i < 1000; ++i) farm.devices[{"key-" + std::to_string(i), "free"}] = 1;
  const std::string text = RenderMetrics(farm, {});
  const auto rows = [&] {
    size_t count = 0;
    for (size_t at = text.find("lathe_devices{"); at != std::string::npos; at = text.find("lathe_devices{", at + 1))
      ++count;
    return count;
  }();
  EXPECT_EQ(rows, kMostKeysShown + 1);
  EXPECT_THAT(text, HasSubstr("lathe_devices{key=\"other\",state=\"free\"} 950\n"));
}

}  // namespace
}  // namespace lathe
