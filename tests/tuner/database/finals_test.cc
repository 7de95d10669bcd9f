// Finals: who is in them, who wins, and what the Store keeps of both.
#include "tuner/database/finals.h"

#include <sstream>

#include "store_testing.h"
#include "tuner/database/records_json.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using S = TrialState;

TuningRecord Known(const std::string& name, double low, double high, int64_t final_round = 0, S status = S::kOk) {
  static int64_t next_id = 1;
  TuningRecord record{
      .id = next_id++, .trace_digest = Sha256(name), .trace_json = name, .status = status, .final_round = final_round};
  if (HasTimings(status)) record.timings = Timings{.median_ns = (low + high) / 2, .ci_low_ns = low, .ci_high_ns = high};
  return record;
}

std::vector<std::string> Finalists(const std::vector<TuningRecord>& history,
                                   const std::optional<TuningRecord>& best = std::nullopt,
                                   const std::string& untuned = "") {
  std::vector<std::string> names;
  for (const TuningRecord& record : ChooseFinalists(history, best, Sha256(untuned))) names.push_back(record.trace_json);
  return names;
}

TEST(ChooseFinalists, TakesWhoMayBeTheFastest) {
  EXPECT_THAT(Finalists({Known("c", 104, 110), Known("a", 99, 101), Known("b", 102, 103)}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Finalists({Known("a", 99, 101), Known("b", 105, 106)}), ElementsAre("a")) << "4 % is no accident";
  EXPECT_THAT(Finalists({Known("a", 99, 101), Known("b", 99, 102), Known("c", 99, 103), Known("d", 99, 104),
                         Known("e", 99, 105)}),
              ElementsAre("a", "b", "c", "d"));
}

TEST(ChooseFinalists, KnowsACandidateByItsBestScreeningOrItsFinal) {
  const std::vector<TuningRecord> twice{Known("a", 80, 100, 0, S::kNoisy), Known("a", 99, 101), Known("b", 85, 87)};
  EXPECT_THAT(Finalists(twice), ElementsAre("b")) << "what is OK counts more than what is noisy";
  const std::vector<TuningRecord> lucky{Known("a", 80, 81), Known("a", 98, 99, 1), Known("a", 100, 101, 2),
                                        Known("a", 102, 103, 3), Known("b", 90, 91)};
  EXPECT_THAT(Finalists(lucky), ElementsAre("b"));
}

TEST(ChooseFinalists, GivesTheLastPlaceToTheUntunedSchedule) {
  const TuningRecord untuned = Known("u", 300, 310);
  EXPECT_THAT(Finalists({Known("a", 99, 101), untuned}, std::nullopt, "u"), ElementsAre("a", "u"));
  EXPECT_THAT(Finalists({Known("a", 99, 101), Known("b", 99, 102), Known("c", 99, 103), Known("d", 99, 104), untuned},
                        std::nullopt, "u"),
              ElementsAre("a", "b", "c", "u"));
  EXPECT_THAT(Finalists({Known("u", 99, 101), Known("b", 99, 102)}, std::nullopt, "u"), ElementsAre("u", "b"));
  EXPECT_THAT(Finalists({Known("a", 99, 101), Known("u", 0, 0, 0, S::kCrash)}, std::nullopt, "u"), ElementsAre("a"));
  const TuningRecord best = Known("a", 99, 101, 2), late = Known("u", 300, 310);
  EXPECT_THAT(Finalists({untuned, best}, best, "u"), IsEmpty()) << "it was left out then";
  EXPECT_THAT(Finalists({best, Known("b", 70, 71), Known("c", 70, 72), Known("d", 70, 73), Known("e", 70, 74), late},
                        best, "u"),
              ElementsAre("b", "c", "a", "u"));
}

TEST(ChooseFinalists, LeavesOutWhatFailed) {
  EXPECT_THAT(Finalists({Known("a", 99, 101), Known("a", 0, 0, 1, S::kWrongResult), Known("b", 200, 201)}),
              ElementsAre("b"));
  EXPECT_THAT(Finalists({Known("a", 0, 0, 0, S::kCrash), Known("b", 99, 101, 0, S::kCensored)}), IsEmpty());
}

TEST(ChooseFinalists, HasNothingToDoOnceItIsDecided) {
  const TuningRecord before = Known("d", 98, 102);
  const TuningRecord best = Known("a", 99, 101, 2);
  EXPECT_THAT(Finalists({best, Known("b", 100, 102, 1), Known("c", 150, 160)}, best), IsEmpty());
  EXPECT_THAT(Finalists({before, best}, best), IsEmpty()) << "it was left out then";
  EXPECT_THAT(Finalists({best, Known("b", 100, 102)}, best), ElementsAre("a", "b")) << "b was only screened";
  EXPECT_THAT(Finalists({Known("b", 70, 71), best}, best), ElementsAre("b", "a")) << "the best has its chance";
  EXPECT_THAT(Finalists({Known("a", 99, 101)}, Known("a", 99, 101)), ElementsAre("a"));
}

std::string Winner(const std::vector<TuningRecord>& rounds) {
  const std::optional<size_t> best = BestOfFinals(rounds);
  if (!best) return "nobody";
  return fmt::format("{} {}", rounds[*best].trace_json, rounds[*best].timings->median_ns);
}

TEST(BestOfFinals, IsTheMedianRoundOfTheFastestCandidate) {
  EXPECT_EQ(Winner({Known("a", 90, 90, 1), Known("b", 100, 100, 1), Known("a", 110, 110, 2), Known("b", 101, 101, 2),
                    Known("a", 120, 120, 3), Known("b", 102, 102, 3)}),
            "b 101");
  EXPECT_EQ(Winner({Known("a", 90, 90, 1), Known("a", 92, 92, 2)}), "a 92") << "of two the slower";
}

TEST(BestOfFinals, IsNobodyWhoFailed) {
  EXPECT_EQ(Winner({Known("a", 90, 90, 1), Known("a", 0, 0, 2, S::kWrongResult), Known("b", 100, 100, 1)}), "b 100");
  EXPECT_EQ(Winner({Known("a", 0, 0, 1, S::kCrash)}), "nobody");
  TuningRecord late = Known("a", 80, 80, 1);
  late.late = true;
  EXPECT_EQ(Winner({late, Known("b", 100, 100, 1)}), "b 100");
  EXPECT_EQ(Winner({}), "nobody");
}

// ---- The Store.

class StoreFinals : public testing::Test {
 protected:
  NewFinalist FinalistOf(int n, bool is_built = true) {
    const NewTrial trial = MakeTrial(n);
    const Digest module = Sha256(fmt::format("module {}", n));
    return {trial.trace_digest, trial.trace_json, trial.seed, is_built ? std::optional(module) : std::nullopt};
  }
  // One round of one finalist.
  void Measure(int64_t round, int n, double median_ns, S outcome = S::kOk) {
    const std::vector<NewFinalist> finalists{FinalistOf(n)};
    const auto begun = store_->BeginFinalRound(scene_.task_id, round, finalists);
    ASSERT_TRUE(begun.ok()) << begun.status().message();
    ASSERT_EQ(begun->size(), 1u);
    const auto answer = store_->CommitResult(scene_.ResultOf(scene_.Run(begun->front().id), median_ns, outcome));
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(answer->trial_state, outcome) << "a round is not repeated because it is noisy";
    EXPECT_FALSE(answer->new_best) << "not before it is decided";
  }
  double Best() { return (*store_->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns; }

  std::unique_ptr<Store> store_ = *SqliteStore::OpenInMemory();
  Scene scene_{*store_};
};

TEST_F(StoreFinals, DecideWhatIsBestWhateverTheSearchSaw) {
  scene_.Measure(1, 90);
  scene_.Measure(2, 95);
  for (const int round : {1, 2, 3}) {
    Measure(round, 1, 110 + round);
    Measure(round, 2, 100 + round, round == 2 ? S::kNoisy : S::kOk);
  }
  EXPECT_EQ(Best(), 90);
  EXPECT_TRUE(*store_->DecideFinals(scene_.task_id));
  EXPECT_EQ(Best(), 102);
  scene_.Measure(3, 80);
  EXPECT_EQ(Best(), 102) << "one short measurement is no reason to change it";
}

TEST_F(StoreFinals, AreNoTrialsOfTheTask) {
  scene_.Measure(1, 90);
  const TaskCounts before = scene_.Counts();
  Measure(1, 1, 100);
  EXPECT_EQ(scene_.Counts().trials_done, before.trials_done);
  EXPECT_EQ(scene_.Counts().trials_open, 0);
  EXPECT_EQ(*store_->CountMeasured(MakeKey()), 1);
  EXPECT_EQ(store_->ListTasks(scene_.job_id)->size(), 1u);
  const std::vector<TrialRow> finals = *store_->ListTrials({.job_id = scene_.job_id, .only_finals = true}, {0, 10});
  ASSERT_EQ(finals.size(), 1u);
  EXPECT_EQ(finals[0].task_id, scene_.task_id);
  EXPECT_EQ(finals[0].final_round, 1);
}

TEST_F(StoreFinals, BuildOnlyWhatIsGone) {
  scene_.Measure(1, 90);
  const std::vector<NewFinalist> finalists{FinalistOf(1), FinalistOf(2), FinalistOf(3, false)};
  const std::vector<TrialRow> begun = *store_->BeginFinalRound(scene_.task_id, 1, finalists);
  ASSERT_EQ(begun.size(), 3u);
  EXPECT_EQ(begun[0].state, S::kMeasureQueued);
  EXPECT_TRUE(IsReferenced(*store_, *begun[0].module_digest));
  EXPECT_EQ(begun[1].state, S::kBuildQueued) << "its module was never here";
  EXPECT_EQ(begun[2].state, S::kBuildQueued);
  EXPECT_THAT(*store_->BeginFinalRound(scene_.task_id, 1, finalists), IsEmpty()) << "said twice";
  EXPECT_TRUE(IsReferenced(*store_, *begun[0].module_digest));
}

TEST_F(StoreFinals, TakeBackABestThatTurnsOutToBeWrong) {
  scene_.Measure(1, 90);
  scene_.Measure(2, 95);
  scene_.Measure(3, 93, S::kNoisy);
  Measure(1, 1, 0, S::kWrongResult);
  EXPECT_FALSE(*store_->DecideFinals(scene_.task_id));
  EXPECT_EQ(Best(), 95);
}

TEST_F(StoreFinals, AreForOpenTasks) {
  ASSERT_TRUE(store_->SetTaskState(scene_.task_id, JobState::kDone).ok());
  const std::vector<NewFinalist> finalists{FinalistOf(1)};
  EXPECT_THAT(store_->BeginFinalRound(scene_.task_id, 1, finalists).status().message(),
              HasSubstr("it is DONE; only an open task takes trials"));
}

TEST_F(StoreFinals, AreCancelledWithTheirJob) {
  const std::vector<NewFinalist> finalists{FinalistOf(1)};
  const int64_t trial = store_->BeginFinalRound(scene_.task_id, 1, finalists)->front().id;
  ASSERT_TRUE(store_->CancelJob(scene_.job_id, "enough").ok());
  EXPECT_EQ(scene_.StateOf(trial), S::kCancelled);
}

TEST_F(StoreFinals, DecideInAnotherDatabaseToo) {
  scene_.Measure(1, 90);
  scene_.Measure(2, 95);
  for (const int round : {1, 2, 3}) {
    Measure(round, 1, 110 + round);
    Measure(round, 2, 100 + round);
  }
  ASSERT_TRUE(store_->DecideFinals(scene_.task_id).ok());
  std::stringstream text;
  ASSERT_TRUE(ExportRecords(*store_, text).ok());
  auto other = *SqliteStore::OpenInMemory();
  ASSERT_TRUE(ImportRecords(*other, text).ok());
  const TuningRecord best = *(*other->QueryBest(std::vector{MakeKey()}))[0].record;
  EXPECT_EQ(best.timings->median_ns, 102);
  EXPECT_EQ(best.final_round, 2);
}

}  // namespace
}  // namespace lathe
