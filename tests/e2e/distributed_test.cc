// Server, workers and devices as processes of their own.
#include <thread>

#include "cli/remote_job.h"
#include "tests/e2e/farm_processes.h"
#include "tests/support/hang_guard.h"

namespace lathe {
namespace {

using DistributedTest = FarmTest;

TEST_F(DistributedTest, TwoJobsAtOnceSurviveTheKillOfTheServer) {
  StartServer();
  StartWorkersAndDevices();
  const int64_t first = Submit(Request("first", MatmulText("first", 64), 24)).id();
  const int64_t second = Submit(Request("second", MatmulText("second", 96), 24)).id();
  bool was_killed = false;
  std::vector<int64_t> cursors;
  const v1::Job job = WatchToItsEnd(first, [&](const v1::WatchJobResponse& update) {
    for (const v1::JobEvent& event : update.events()) cursors.push_back(event.cursor());
    if (was_killed || update.job().tasks(0).trials_done() < 4) return;
    was_killed = true;
    server->End(SIGKILL);
    StartServer();
  });
  EXPECT_TRUE(was_killed);
  EXPECT_TRUE(std::adjacent_find(cursors.begin(), cursors.end(), std::greater_equal<>()) == cursors.end())
      << "an event came twice";
  for (const v1::Job& ended : {job, WatchToItsEnd(second)}) {
    EXPECT_EQ(ended.state(), v1::JOB_STATE_DONE) << ended.DebugString();
    EXPECT_EQ(ended.tasks(0).trials_known(), 24);
    EXPECT_GT(ended.tasks(0).best_ns(), 0);
  }

  // The same work again costs nothing, whoever asks.
  v1::Job again = Submit(Request("again", MatmulText("again", 64), 24));
  const auto ending = FollowRemoteJob(
      connection->tuning(), again.id(), kHangGuard, [&](const v1::Job& shown) { again = shown; },
      [](Duration pause) {
        std::this_thread::sleep_for(pause);
        return false;
      });
  ASSERT_TRUE(ending.ok()) << ending.status().ToString();
  EXPECT_EQ(*ending, RemoteEnding::kJobEnded);
  const StatusOr<JobReport> report = ToReport(again);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_EQ(report->job.state, JobState::kDone);
  EXPECT_EQ(report->measured, 0);
  EXPECT_EQ(report->reused, 24);
  EXPECT_GT(report->tasks[0].untuned_ns, 0);  // Which may be the best; a busy machine says of either what it likes.
  EXPECT_GT(report->tasks[0].best_ns, 0);

  EXPECT_EQ(workers[0]->End(SIGTERM), 0);
  EXPECT_EQ(devices[0]->End(SIGTERM), 0);
  EXPECT_EQ(server->End(SIGTERM), 0);
}

}  // namespace
}  // namespace lathe
