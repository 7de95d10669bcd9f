// `lathe tune` as a user runs it: with a server: two clients at a time, and one that leaves and comes back.
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

using testing::HasSubstr;

TEST_F(TuneTest, OnAServerTwoClientsGetOnAtOnce) {
  StartServer();
  StartWorkersAndDevices();
  const std::vector<std::string> there{"--server", address.ToString(), "--device", "host"};
  const std::string first_file = File("first", 40), second_file = File("second", 48);
  Submit(Request("ready", MatmulText("ready", 32), 2));  // The devices are there.
  for (const auto& device : devices) device->Signal(SIGSTOP);
  const auto longer = Tune("longer", first_file, 2000, there), shorter = Tune("shorter", second_file, 16, there);
  AwaitBuilt({2, 3});  // Nothing is measured before both have something to measure.
  for (const auto& device : devices) device->Signal(SIGCONT);
  const Ended ended = Finish(*shorter, "shorter");
  EXPECT_LT(Done(), 2000) << "the shorter one got nothing before the longer one was through";
  EXPECT_EQ(ended.code, 0) << ended.words;
  EXPECT_EQ(ended.json["trials_measured"], 16);
  EXPECT_EQ(ended.json["trials_reused"], 0);
  EXPECT_EQ(ended.json["network"], nullptr);
  const nlohmann::json& task = ended.json["tasks"][0];
  EXPECT_EQ(task["status"], "DONE");
  EXPECT_EQ(task["workload"].get<std::string>().size(), 64u);
  EXPECT_THAT(task["target"].get<std::string>(), HasSubstr("-num-cores=1"));
  EXPECT_GT(task["best_ms"], 0);
  longer->SignalTwice(SIGINT, SIGTERM);
  const Ended cancelled = Finish(*longer, "longer");
  EXPECT_EQ(cancelled.code, 130) << cancelled.words;
  EXPECT_EQ(RunTune(second_file, 16, there).json["trials_measured"], 0);
}

TEST_F(TuneTest, AServerOutlivesTheSearchThatAJobKills) {
  StartServer();
  StartWorkersAndDevices();
  // Once: the job goes on and loses nothing.
  const v1::Job once = Submit(Request("once", MatmulText("once", 40), 24));
  std::vector<pid_t> searches;
  Until([&] { return !(searches = DescendantsOf(server->pid(), "lathe-search")).empty(); });
  AwaitDone(4);
  kill(searches[0], SIGSEGV);
  EXPECT_EQ(WatchToItsEnd(once.id()).state(), v1::JOB_STATE_DONE);
  CheckBooks(database, once.id(), 24);
  // Twice: it fails with the words, and the next one is served.
  const v1::Job twice = Submit(Request("twice", MatmulText("twice", 48), 2000));
  for (int times = 0; times < 2; ++times) {
    const pid_t last = times == 0 ? 0 : searches[0];
    Until([&] { return !(searches = DescendantsOf(server->pid(), "lathe-search")).empty() && searches[0] != last; });
    kill(searches[0], SIGSEGV);
  }
  const v1::Job failed = WatchToItsEnd(twice.id());
  EXPECT_EQ(failed.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(failed.detail(), HasSubstr("search of this job: 2 of its processes have died, the last one died with "
                                         "SIGSEGV"));
  const v1::Job next = Submit(Request("next", MatmulText("next", 32), 2));
  EXPECT_EQ(WatchToItsEnd(next.id()).state(), v1::JOB_STATE_DONE);
}

// No round of proposals is under way then: all are made.
TEST_F(TuneTest, AServerOutlivesASearchThatDiesWhileTrialsAreMeasured) {
  StartServer();
  StartWorkersAndDevices();
  const v1::Job job = Submit(Request("broken", MatmulText("broken", 48), 12));
  AwaitDone(1);
  for (pid_t last = 0, times = 0; times < 2; ++times) {
    std::vector<pid_t> searches;
    Until([&] { return !(searches = DescendantsOf(server->pid(), "lathe-search")).empty() && searches[0] != last; });
    kill(last = searches[0], SIGSEGV);
  }
  const v1::Job failed = WatchToItsEnd(job.id());
  EXPECT_EQ(failed.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(failed.detail(), HasSubstr("search of this job: 2 of its processes have died"));
  EXPECT_EQ(server->End(SIGTERM), 0);
}

TEST_F(TuneTest, AnInterruptLeavesTheJobToItsServer) {
  StartServer();
  StartWorkersAndDevices();
  const std::vector<std::string> there{"--server", address.ToString(), "--device", "host"};
  const std::string file = File("matmul", 40);
  Submit(Request("ready", MatmulText("ready", 32), 2));
  const auto left = Tune("left", file, 40, there);
  AwaitDone(6);
  left->Signal(SIGINT);
  const Ended detached = Finish(*left, "left");
  EXPECT_EQ(detached.code, 130) << detached.words;
  EXPECT_THAT(detached.words, HasSubstr("the same command comes back to it, `lathe watch 2 --server unix:"));
  const Ended back = RunTune(file, 40, there);
  EXPECT_EQ(back.code, 0) << back.words;
  EXPECT_EQ(back.json["job"], 2) << "the same command comes back to its job";
  EXPECT_EQ(back.json["tasks"][0]["trials"], 40);

  const auto cancelled = Tune("cancelled", file, 500, there);
  AwaitDone(44);
  cancelled->SignalTwice(SIGINT, SIGTERM);
  const Ended end = Finish(*cancelled, "cancelled");
  EXPECT_EQ(end.code, 130) << end.words;
  EXPECT_EQ(end.json["state"], "CANCELLED");
  EXPECT_EQ(Run({"jobs", "3", "--db", database, "--json"}).json["state"], "CANCELLED");
}

}  // namespace
}  // namespace lathe
