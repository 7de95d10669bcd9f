#include "tuner/job/build_merge.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::BuildTask Task(int64_t trial, const std::string& trace, int attempt = 1) {
  v1::BuildTask task;
  task.set_trial_id(trial);
  task.set_attempt(attempt);
  task.set_trace_json(trace);
  task.set_target("llvm");
  return task;
}

bool Begin(BuildMerge& merge, const v1::BuildTask& task) {
  std::vector<BuildOf> left;
  const bool is_sent = merge.Begin(task, left);
  EXPECT_THAT(left, IsEmpty());
  return is_sent;
}

TEST(BuildMerge, OneOfEqualBuildsIsDoneAndTheOthersWaitForIt) {
  BuildMerge merge;
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a", 3)));
  EXPECT_TRUE(Begin(merge, Task(3, "b"))) << "another schedule";
  v1::BuildTask other = Task(4, "a");
  other.set_target("llvm -mcpu=cortex-a72");
  EXPECT_TRUE(Begin(merge, other)) << "another target";
  EXPECT_FALSE(Begin(merge, Task(5, "a")));
  EXPECT_TRUE(merge.IsWaiting(2));
  EXPECT_FALSE(merge.IsWaiting(1));
  EXPECT_THAT(merge.Ended(1), ElementsAre(BuildOf{2, 3}, BuildOf{5, 1}));
  EXPECT_TRUE(Begin(merge, Task(2, "a", 3))) << "nobody builds it now";
}

TEST(BuildMerge, WhoeverLeavesIsNotTold) {
  BuildMerge merge;
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a")));
  EXPECT_FALSE(Begin(merge, Task(3, "a")));
  EXPECT_THAT(merge.Ended(2), IsEmpty());
  EXPECT_THAT(merge.Ended(7), IsEmpty()) << "never begun";
  EXPECT_THAT(merge.Ended(1), ElementsAre(BuildOf{3, 1}));
}

TEST(BuildMerge, ATrialThatIsBuiltAgainLeavesItsFormerBuild) {
  BuildMerge merge;
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a", 2)));
  EXPECT_THAT(merge.Ended(1), ElementsAre(BuildOf{2, 2}));
}

// A restarted server, or a job that begins, sends again what a worker builds.
TEST(BuildMerge, ABuildThatIsSentAgainKeepsThoseThatWaitForIt) {
  BuildMerge merge;
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a")));
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a")));
  EXPECT_THAT(merge.Ended(1), ElementsAre(BuildOf{2, 1}));
}

TEST(BuildMerge, ATrialThatBuildsSomethingElseLeavesThoseThatWaitedForIt) {
  BuildMerge merge;
  EXPECT_TRUE(Begin(merge, Task(1, "a")));
  EXPECT_FALSE(Begin(merge, Task(2, "a")));
  std::vector<BuildOf> left;
  EXPECT_TRUE(merge.Begin(Task(1, "b"), left));
  EXPECT_THAT(left, ElementsAre(BuildOf{2, 1}));
}

}  // namespace
}  // namespace lathe
