// `lathe tune` as a user runs it: killed and started again, interrupted, two at a time on one database.
#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

using testing::HasSubstr;

TEST_F(TuneTest, KilledAndStartedAgainMeasuresOnlyTheDifference) {
  Random random(Seed());
  const std::string file = File("matmul", 40);
  constexpr int kBudget = 20;
  bool was_killed = true;
  for (const int64_t after : {0, 3, 8, 13}) {
    const auto tune = Tune("killed", file, kBudget);
    AwaitDone(after);
    poll(nullptr, 0, static_cast<int>(random.Below(300)));
    const int code = tune->End(SIGKILL);
    was_killed = code == 128 + SIGKILL;
    if (was_killed) continue;
    EXPECT_EQ(code, 0) << "it ended by itself, and not because it was through";
    break;
  }
  const int64_t known = Done();
  const Ended last = RunTune(file, kBudget);
  EXPECT_EQ(last.code, 0) << last.words;
  EXPECT_EQ(last.json["trials_measured"], kBudget - known);
  EXPECT_EQ(last.json["trials_reused"], known);
  EXPECT_EQ(last.json["job"], was_killed ? 1 : 2) << "the same command resumes its job";
  CheckBooks(database, 1, kBudget);

  const Ended again = RunTune(file, kBudget);
  EXPECT_EQ(again.code, 0) << again.words;
  EXPECT_EQ(again.json["trials_measured"], 0);
  EXPECT_EQ(again.json["trials_reused"], kBudget);
  EXPECT_EQ(again.json["tasks"][0]["best_ms"], last.json["tasks"][0]["best_ms"]);
  EXPECT_EQ(again.json["tasks"][0]["untuned_ms"], last.json["tasks"][0]["untuned_ms"]);

  const Ended larger = RunTune(file, kBudget + 5);
  EXPECT_EQ(larger.json["trials_measured"], 5) << larger.words;
  EXPECT_EQ(larger.json["trials_reused"], kBudget);
  EXPECT_EQ(larger.json["tasks"][0]["trials"], kBudget + 5);
}

// Budgets count what is known, whatever space it came from.
TEST_F(TuneTest, SearchesOneSpaceAfterTheOtherInOneDatabase) {
  const std::string file = File("matmul", 32);
  int budget = 0;
  for (const char* space : {"rules", "sketches", "templates", "sketches,templates"}) {
    const Ended ended = RunTune(file, budget += 6, {"--db", database, "--space", space});
    EXPECT_EQ(ended.code, 0) << ended.words;
    EXPECT_EQ(ended.json["trials_measured"], 6) << space;
    EXPECT_GT(ended.json["tasks"][0]["best_ms"], 0) << space;
  }
  const Ended jobs = Run({"jobs", "--db", database, "--json"});
  EXPECT_EQ(jobs.json["jobs"][2]["space"], "templates") << jobs.words;
  const Ended wrong = RunTune(file, 6, {"--db", database, "--space", "knobs"});
  EXPECT_EQ(wrong.code, 2) << wrong.words;
  EXPECT_THAT(wrong.words, HasSubstr("there are \"rules\", \"sketches\", \"templates\""));
}

TEST_F(TuneTest, AKilledEvaluationOfTheReferenceIsDoneAgain) {
  const std::string file = File("large", 512);
  for (int tries = 0;; ++tries) {  // Until one is met alive.
    database = folder / fmt::format("{}.db", tries);
    const auto tune = Tune("tune", file, 2);
    bool was_killed = false;
    while (!was_killed && Done() == 0) {
      for (const pid_t child : DescendantsOf(tune->pid(), "lathe-evaluate")) was_killed = kill(child, SIGKILL) == 0;
      poll(nullptr, 0, 2);
    }
    const Ended ended = Finish(*tune, "tune");
    EXPECT_EQ(ended.code, 0) << ended.words;
    EXPECT_EQ(ended.json["tasks"][0]["failures"].size(), 0u);
    CheckBooks(database, 1, 2);
    if (was_killed) break;
  }
}

TEST_F(TuneTest, AnInterruptStopsAtTheLastCommittedTrial) {
  // Moments: at its start, while the reference of something large is made, while it measures. Whatever it would do next
  // is hours of work.
  const std::string small = File("small", 40), large = File("large", 1024);
  struct Moment {
    const char* name;
    const std::string& file;
    int64_t records;
    int signal;
  };
  for (const Moment& moment : {Moment{"start", small, 0, SIGINT}, Moment{"reference", large, 0, SIGTERM},
                               Moment{"measuring", small, 6, SIGINT}, Moment{"drained", small, 10, SIGTERM}}) {
    const auto tune = Tune(moment.name, moment.file, 100'000);
    AwaitItsEstimate(moment.name);
    if (&moment.file == &large)
      Until([&] { return !DescendantsOf(tune->pid(), "lathe-evaluate").empty() || Done() > 0; });
    AwaitDone(moment.records);
    tune->Signal(moment.signal);
    const Ended ended = Finish(*tune, moment.name);
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
  const auto tune = Tune("cancelled", file, 100'000);
  AwaitDone(3);
  tune->SignalTwice(SIGINT, SIGTERM);
  const Ended ended = Finish(*tune, "cancelled");
  EXPECT_EQ(ended.code, 130) << ended.words;
  EXPECT_THAT(ended.words, HasSubstr("cancelled; what was measured is kept"));
  EXPECT_EQ(ended.json["state"], "CANCELLED");
  EXPECT_GE(Done(), 3);
}

TEST_F(TuneTest, ASecondTuneUsesTheOwnerAndTakesOverFromIt) {
  // The first one's trials are long, and it keeps the device for twenty: the second does not get through before its
  // end.
  const std::string first_file = File("first", 384), second_file = File("second", 48);
  const auto first = Tune("first", first_file, 400);
  AwaitDone(2);
  const auto second = Tune("second", second_file, 14);
  AwaitJobs(2);
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
  EXPECT_EQ(taken_over.json["tasks"][0]["trials"], 14);
  CheckBooks(database, taken_over.json["job"], 14);
}

TEST_F(TuneTest, TwoOnOneDatabaseBothFinish) {
  const std::string first_file = File("first", 40), second_file = File("second", 48);
  const auto first = Tune("first", first_file, 10), second = Tune("second", second_file, 16);
  const Ended a = Finish(*first, "first"), b = Finish(*second, "second");
  EXPECT_EQ(a.code, 0) << a.words;
  EXPECT_EQ(b.code, 0) << b.words;
  EXPECT_EQ(a.json["tasks"][0]["trials"], 10);
  EXPECT_EQ(b.json["tasks"][0]["trials"], 16);
}

}  // namespace
}  // namespace lathe
