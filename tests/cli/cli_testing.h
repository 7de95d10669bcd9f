// Verbs in this process, with what they wrote.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "cli/lathe.h"
#include "tests/tuner/database/store_testing.h"

namespace lathe {

struct VerbRun {
  int code = 0;
  std::string out, err;
};

inline VerbRun RunVerb(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "lathe");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  VerbRun run;
  run.code = RunLathe(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  run.out = testing::internal::GetCapturedStdout();
  run.err = testing::internal::GetCapturedStderr();
  return run;
}

// A database file with one job: two timed trials, and three that failed for two reasons.
class DatabaseFileTest : public testing::Test {
 protected:
  void Fill() {
    FakeClock clock(kNow);
    const auto store = *SqliteStore::Open(path, clock);
    Scene scene(*store);
    scene.Measure(1, 23'100);
    scene.Measure(2, 45'000);
    Crash(scene, 3, "signal 11 at loop 7");
    Crash(scene, 4, "signal 11 at loop 12");
    const int64_t refused = scene.Propose(5);
    const auto claim = *store->ClaimForBuild("worker-1", 0, {.trial_id = refused});
    EXPECT_TRUE(store
                    ->CommitBuild({refused, claim->attempt,
                                   BuildFailure{TrialState::kBuildError, "register tile spills\nat block C"}, "{}"},
                                  TrialState::kMeasureQueued)
                    .ok());
    job_id = scene.job_id;
  }
  static void Crash(Scene& scene, int n, const std::string& words) {
    RunResult result = scene.ResultOf(scene.Run(scene.Build(n)), 0, TrialState::kCrash);
    result.error = words;
    EXPECT_TRUE(scene.store.CommitResult(result).ok());
  }
  VerbRun Verb(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--db", path});
    return RunVerb(std::move(arguments));
  }

  TemporaryFolder folder;
  std::string path = folder / "lathe.db";
  int64_t job_id = 0;
};

}  // namespace lathe
