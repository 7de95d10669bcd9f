// `lathe tune` as a user runs it: killed and started again, interrupted, two at a time on one database, with a server.
#include <nlohmann/json.hpp>

#include "tests/e2e/farm_processes.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct Ended {
  int code = 0;
  nlohmann::json json;
  std::string words;  // On stderr.
};

class TuneTest : public FarmTest {
 protected:
  std::string File(const std::string& name, int n) {
    const std::string path = folder / (name + ".py");
    std::ofstream(path) << MatmulText(name, n);
    return path;
  }
  // `name` is of its log; without a place of its own it uses the test's database.
  std::unique_ptr<ChildProcess> Tune(const std::string& name, const std::string& file, int trials, std::vector<std::string> more = {}) {
    if (more.empty()) more = {"--db", database};
    std::vector<std::string> arguments{"lathe", "tune", file, "--trials", std::to_string(trials), "--cpus", "0", "--slots", "2", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::filesystem::remove(folder / (name + ".log"));
    return std::make_unique<ChildProcess>(arguments, folder / (name + ".log"));
  }
  Ended Finish(ChildProcess& child, const std::string& name, milliseconds limit = seconds(60)) {
    Ended ended;
    const std::string text = child.ReadAll();
    ended.json = nlohmann::json::parse(text, nullptr, false);
    ended.code = child.Wait(limit);
    ended.words = TextOf(folder / (name + ".log"));
    return ended;
  }
  Ended RunTune(const std::string& file, int trials, std::vector<std::string> more = {}) {
    const auto child = Tune("tune", file, trials, std::move(more));
    return Finish(*child, "tune");
  }
  Ended Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "lathe");
    std::filesystem::remove(folder / "run.log");
    ChildProcess child(arguments, folder / "run.log");
    return Finish(child, "run");
  }
  // Trials that have their outcome.
  int64_t Done() {
    const auto store = SqliteStore::OpenReadOnly(database);
    if (!store.ok()) return 0;
    const auto trials = (*store)->ListTrials({}, {0, 100'000});
    if (!trials.ok()) return 0;
    return std::count_if(trials->begin(), trials->end(), [](const TrialRow& trial) { return HasRecord(trial.state); });
  }
  TuningKey KeyOfFirstTask() { return (*(*SqliteStore::OpenReadOnly(database))->ListTasks(1)).front().key; }
  void AwaitDone(int64_t count) {
    for (int i = 0; i < 3000 && Done() < count; ++i) poll(nullptr, 0, 10);
    ASSERT_GE(Done(), count);
  }
};

TEST_F(TuneTest, KilledAndStartedAgainMeasuresOnlyTheDifference) {
  Random random(Seed());
  const std::string file = File("matmul", 40);
  constexpr int kBudget = 30;
  for (const int64_t after : {0, 5, 12, 20}) {
    const auto tune = Tune("killed", file, kBudget);
    AwaitDone(after);
    poll(nullptr, 0, static_cast<int>(random.Below(300)));
    EXPECT_EQ(tune->End(SIGKILL), 128 + SIGKILL) << "it ended by itself";
  }
  const int64_t known = Done();
  const Ended last = RunTune(file, kBudget);
  EXPECT_EQ(last.code, 0) << last.words;
  EXPECT_EQ(last.json["trials_measured"], kBudget - known);
  EXPECT_EQ(last.json["trials_reused"], known);
  EXPECT_EQ(last.json["job"], 1) << "the same command resumes its job";
  CheckBooks(database, 1, kBudget);

  const Ended again = RunTune(file, kBudget);
  EXPECT_EQ(again.code, 0) << again.words;
  EXPECT_EQ(again.json["trials_measured"], 0);
  EXPECT_EQ(again.json["trials_reused"], kBudget);
  EXPECT_EQ(again.json["tasks"][0]["best_ms"], last.json["tasks"][0]["best_ms"]);
  EXPECT_EQ(again.json["tasks"][0]["untuned_ms"], last.json["tasks"][0]["untuned_ms"]);

  const Ended larger = RunTune(file, kBudget + 7);
  EXPECT_EQ(larger.json["trials_measured"], 7) << larger.words;
  EXPECT_EQ(larger.json["trials_reused"], kBudget);
  EXPECT_EQ(larger.json["tasks"][0]["trials"], kBudget + 7);
}

TEST_F(TuneTest, AnInterruptStopsAtTheLastCommittedTrial) {
  // Moments: at its start, while the reference of something large is made, while it measures.
  const std::string small = File("small", 40), large = File("large", 1024);
  struct Moment {
    const char* name;
    const std::string& file;
    int64_t records;
    int signal;
  };
  for (const Moment& moment : {Moment{"start", small, 0, SIGINT}, Moment{"reference", large, 0, SIGTERM}, Moment{"measuring", small, 6, SIGINT},
                               Moment{"drained", small, 10, SIGTERM}}) {
    const auto tune = Tune(moment.name, moment.file, 200);
    AwaitDone(moment.records);
    poll(nullptr, 0, 700);
    tune->Signal(moment.signal);
    const auto begin = SystemClock().Now();
    const Ended ended = Finish(*tune, moment.name, seconds(5));
    EXPECT_LT(SystemClock().Now() - begin, seconds(5)) << moment.name;
    EXPECT_EQ(ended.code, 130) << moment.name << ": " << ended.words;
    EXPECT_THAT(ended.words, HasSubstr("the same command goes on from here")) << moment.name;
    EXPECT_EQ(ended.json["state"], "RUNNING") << moment.name;
    EXPECT_FALSE(std::filesystem::exists(database + ".sock")) << moment.name << ": its socket is left behind";
  }
  const auto known = static_cast<int>(*(*SqliteStore::OpenReadOnly(database))->CountMeasured(KeyOfFirstTask()));
  const Ended rest = RunTune(small, known + 4);
  EXPECT_EQ(rest.json["trials_measured"], 4) << rest.words;
}

TEST_F(TuneTest, ASecondInterruptCancels) {
  const std::string file = File("matmul", 40);
  const auto tune = Tune("cancelled", file, 200);
  AwaitDone(3);
  tune->Signal(SIGINT);
  poll(nullptr, 0, 150);
  tune->Signal(SIGINT);
  const Ended ended = Finish(*tune, "cancelled", seconds(5));
  EXPECT_EQ(ended.code, 130) << ended.words;
  EXPECT_THAT(ended.words, HasSubstr("cancelled; what was measured is kept"));
  EXPECT_EQ(ended.json["state"], "CANCELLED");
  EXPECT_GE(Done(), 3);
}

TEST_F(TuneTest, ASecondTuneUsesTheOwnerAndTakesOverFromIt) {
  const std::string first_file = File("first", 40), second_file = File("second", 48);
  const auto first = Tune("first", first_file, 400);
  AwaitDone(2);
  const auto second = Tune("second", second_file, 24);
  AwaitDone(8);
  // Verbs that read open the file beside its owner; the others ask it.
  const Ended best = Run({"best", first_file, "--db", database, "--json"});
  EXPECT_EQ(best.code, 0) << best.words;
  EXPECT_EQ(best.json[0]["name"], "first");
  const Ended jobs = Run({"jobs", "--db", database, "--json"});
  EXPECT_EQ(jobs.json["jobs"].size(), 2u) << jobs.words;
  EXPECT_EQ(Run({"devices", "--db", database, "--json"}).json["devices"][0]["state"], "ONLINE");
  EXPECT_EQ(Run({"best", second_file, "--db", folder / "other.db"}).code, 3);

  first->End(SIGKILL);
  const Ended taken_over = Finish(*second, "second");
  EXPECT_EQ(taken_over.code, 0) << taken_over.words;
  EXPECT_THAT(taken_over.words, testing::AllOf(HasSubstr("another process owns"), HasSubstr("takes over")));
  EXPECT_EQ(taken_over.json["state"], "DONE");
  EXPECT_EQ(taken_over.json["tasks"][0]["trials"], 24);
  CheckBooks(database, taken_over.json["job"], 24);
}

TEST_F(TuneTest, TwoOnOneDatabaseBothFinish) {
  const std::string first_file = File("first", 40), second_file = File("second", 48);
  const auto first = Tune("first", first_file, 16), second = Tune("second", second_file, 28);
  const Ended a = Finish(*first, "first"), b = Finish(*second, "second");
  EXPECT_EQ(a.code, 0) << a.words;
  EXPECT_EQ(b.code, 0) << b.words;
  EXPECT_EQ(a.json["tasks"][0]["trials"], 16);
  EXPECT_EQ(b.json["tasks"][0]["trials"], 28);
}

TEST_F(TuneTest, OnAServerTwoClientsGetOnAtOnce) {
  StartServer();
  StartWorkersAndDevices();
  const std::vector<std::string> there{"--server", address.ToString(), "--device", "host"};
  const std::string first_file = File("first", 40), second_file = File("second", 48);
  Submit(Request("ready", MatmulText("ready", 32), 2));  // The devices are there.
  const auto first = Tune("first", first_file, 24, there), second = Tune("second", second_file, 24, there);
  const Ended a = Finish(*first, "first");
  const int64_t others = Done() - 26;  // Without this one's and those of "ready".
  const Ended b = Finish(*second, "second");
  EXPECT_GE(others, 8) << "the other client was starved";
  for (const Ended& ended : {a, b}) {
    EXPECT_EQ(ended.code, 0) << ended.words;
    EXPECT_EQ(ended.json["trials_measured"], 24);
    EXPECT_EQ(ended.json["trials_reused"], 0);
    EXPECT_EQ(ended.json["network"], nullptr);
    const nlohmann::json& task = ended.json["tasks"][0];
    EXPECT_EQ(task["status"], "DONE");
    EXPECT_EQ(task["workload"].get<std::string>().size(), 64u);
    EXPECT_THAT(task["target"].get<std::string>(), HasSubstr("-num-cores=1"));
    EXPECT_GT(task["best_ms"], 0);
  }
  EXPECT_EQ(RunTune(first_file, 24, there).json["trials_measured"], 0);
}

TEST_F(TuneTest, AnInterruptLeavesTheJobToItsServer) {
  StartServer();
  StartWorkersAndDevices();
  const std::vector<std::string> there{"--server", address.ToString(), "--device", "host"};
  const std::string file = File("matmul", 40);
  Submit(Request("ready", MatmulText("ready", 32), 2));
  const auto left = Tune("left", file, 24, there);
  AwaitDone(6);
  left->Signal(SIGINT);
  const Ended detached = Finish(*left, "left", seconds(5));
  EXPECT_EQ(detached.code, 130) << detached.words;
  EXPECT_THAT(detached.words, HasSubstr("the same command comes back to it, `lathe watch 2 --server unix:"));
  const Ended back = RunTune(file, 24, there);
  EXPECT_EQ(back.code, 0) << back.words;
  EXPECT_EQ(back.json["job"], 2) << "the same command comes back to its job";
  EXPECT_EQ(back.json["tasks"][0]["trials"], 24);

  const auto cancelled = Tune("cancelled", file, 500, there);
  AwaitDone(29);
  cancelled->Signal(SIGINT);
  poll(nullptr, 0, 150);
  cancelled->Signal(SIGINT);
  const Ended end = Finish(*cancelled, "cancelled", seconds(5));
  EXPECT_EQ(end.code, 130) << end.words;
  EXPECT_EQ(end.json["state"], "CANCELLED");
  EXPECT_EQ(Run({"jobs", "3", "--db", database, "--json"}).json["state"], "CANCELLED");
}

}  // namespace
}  // namespace lathe
