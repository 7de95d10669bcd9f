#include "tuner/job/task_finals.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

namespace lathe {
namespace {

using S = TrialState;

NewFinalist Named(const std::string& name) { return {Sha256(name), name}; }
Timings Between(double low, double high) {
  return {.median_ns = (low + high) / 2, .ci_low_ns = low, .ci_high_ns = high};
}

// "1: a b": the next round and who is in it; "over".
std::string Next(const TaskFinals& finals) {
  const std::optional<TaskFinals::Round> round = finals.NextRound();
  if (!round) return "over";
  std::string text = fmt::format("{}:", round->number);
  for (const NewFinalist& finalist : round->finalists) text += " " + finalist.trace_json;
  return text;
}

TEST(TaskFinals, MeasuresAllThatAreLeftOncePerRound) {
  TaskFinals finals({Named("a"), Named("b")});
  for (int round = 1; round <= kFinalRounds; ++round) {
    EXPECT_EQ(Next(finals), fmt::format("{}: a b", round));
    finals.Ended(Sha256("a"), S::kOk, Between(90, 110));
    EXPECT_EQ(Next(finals), fmt::format("{}: b", round)) << "as after a restart in the middle";
    finals.Ended(Sha256("b"), S::kNoisy, Between(95, 140));
  }
  EXPECT_EQ(Next(finals), "over");
}

TEST(TaskFinals, LetsGoOfWhoIsBeaten) {
  TaskFinals finals({Named("a"), Named("b"), Named("c")});
  finals.Ended(Sha256("a"), S::kOk, Between(90, 100));
  finals.Ended(Sha256("b"), S::kOk, Between(99, 120));
  finals.Ended(Sha256("c"), S::kOk, Between(101, 120));
  EXPECT_EQ(Next(finals), "2: a b");
  EXPECT_FALSE(finals.HasFailures());
}

TEST(TaskFinals, LetsGoOfWhoFails) {
  TaskFinals finals({Named("a"), Named("b"), Named("c")});
  finals.Ended(Sha256("a"), S::kWrongResult, std::nullopt);
  finals.Ended(Sha256("b"), S::kInfraFailed, std::nullopt);
  EXPECT_TRUE(finals.HasFailures());
  EXPECT_EQ(Next(finals), "1: c");
  finals.Ended(Sha256("c"), S::kCrash, std::nullopt);
  EXPECT_EQ(Next(finals), "over");
}

TEST(TaskFinals, AnInfrastructureFailureIsNobodysFault) {
  TaskFinals finals({Named("a")});
  finals.Ended(Sha256("a"), S::kInfraFailed, std::nullopt);
  EXPECT_EQ(Next(finals), "over");
  EXPECT_FALSE(finals.HasFailures());
}

TEST(TaskFinals, ATimeThatIsNotKnownBeatsNobody) {
  TaskFinals finals({Named("a"), Named("b")});
  finals.Ended(Sha256("a"), S::kOk, std::nullopt);
  finals.Ended(Sha256("b"), S::kOk, Between(90, 110));
  EXPECT_EQ(Next(finals), "2: a b");
}

}  // namespace
}  // namespace lathe
