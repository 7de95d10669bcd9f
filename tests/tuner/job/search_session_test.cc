// A job's search in another process: what is asked again when one dies, and when nobody asks any more.
#include "tuner/job/search_session.h"

#include <gmock/gmock.h>

#include "tuner/job/search_messages.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string Say(const v1::SearchRequest& request) {
  switch (request.request_case()) {
    case v1::SearchRequest::kBegin:
      return "begin " + std::to_string(request.begin().job_id());
    case v1::SearchRequest::kPrepare:
      return "prepare " + std::to_string(request.prepare().task());
    case v1::SearchRequest::kPropose:
      return "propose " + std::to_string(request.propose().task()) + " x" + std::to_string(request.propose().count());
    case v1::SearchRequest::kChooseFinalists:
      return "finalists " + std::to_string(request.choose_finalists().task());
    case v1::SearchRequest::kDistrust:
      return "distrust " + std::to_string(request.distrust().task());
    default:
      return "?";
  }
}

std::vector<std::string> Say(const std::vector<v1::SearchRequest>& requests) {
  std::vector<std::string> words;
  for (const v1::SearchRequest& request : requests) words.push_back(Say(request));
  return words;
}

SearchSession Session() {
  v1::SearchBegin begin;
  begin.set_job_id(7);
  return SearchSession(begin);
}

v1::SearchAnswer Prepared(size_t task, const StatusOr<PreparedTask>& prepared) {
  v1::SearchAnswer answer;
  *answer.mutable_prepared() = ToMessage(task, prepared);
  return answer;
}

v1::SearchAnswer Proposed(uint32_t task, const Status& status = OkStatus()) {
  v1::SearchAnswer answer;
  answer.mutable_proposed()->set_task(task);
  *answer.mutable_proposed()->mutable_status() = ToMessage(status);
  return answer;
}

PreparedTask SomeTask() {
  PreparedTask prepared{.untuned_trace = Sha256("untuned"), .flops = 1e6, .is_float32 = true, .best_ns = 12.5};
  prepared.measurement.kernel = "main";
  prepared.measurement.reference = {Sha256("reference"), 64, {0.5}, {{2, {-3, 9}}}};
  return prepared;
}

const ProposedTrial kTrial{41, Sha256("trace")};

TEST(SearchSession, TellsAFreshProcessWhatWasPreparedAndWhatWasNotAnswered) {
  SearchSession session = Session();
  EXPECT_THAT(Say(session.Begin()), ElementsAre("begin 7"));
  EXPECT_EQ(Say(session.Prepare(0)), "prepare 0");
  (void)session.Prepare(1);
  (void)session.Distrust(2);
  const auto events = session.Take(Prepared(0, SomeTask()));
  ASSERT_TRUE(events.ok()) << events.status().message();
  ASSERT_THAT(*events, SizeIs(1));
  const auto& prepared = std::get<SearchHasPrepared>((*events)[0]);
  EXPECT_EQ(prepared.task, 0u);
  EXPECT_EQ(prepared.answer->untuned_trace, Sha256("untuned"));
  EXPECT_EQ(prepared.answer->measurement.reference.input_ranges, SomeTask().measurement.reference.input_ranges);
  (void)session.Propose(0, 16);
  EXPECT_THAT(session.Ended("died with SIGSEGV"), IsEmpty());
  EXPECT_FALSE(session.is_broken());
  EXPECT_THAT(Say(session.Begin()), ElementsAre("begin 7", "distrust 2", "prepare 0", "prepare 1", "propose 0 x16"));
  // The core was told of task 0 before.
  EXPECT_THAT(*session.Take(Prepared(0, SomeTask())), IsEmpty());
  EXPECT_THAT(*session.Take(Prepared(1, SomeTask())), SizeIs(1));
}

TEST(SearchSession, WhatADeadProcessHadProposedIsItsAnswer) {
  SearchSession session = Session();
  (void)session.Begin();
  (void)session.Propose(1, 4);
  (void)session.Propose(2, 4);
  session.Proposed(1, kTrial);
  const std::vector<SearchEvent> events = session.Ended("died with SIGILL");
  ASSERT_THAT(events, SizeIs(1));
  const auto& proposed = std::get<SearchHasProposed>(events[0]);
  EXPECT_EQ(proposed.task, 1u);
  ASSERT_THAT(*proposed.answer, SizeIs(1));
  EXPECT_EQ((*proposed.answer)[0].trial_id, 41);
  EXPECT_THAT(Say(session.Begin()), ElementsAre("begin 7", "propose 2 x4"));
}

TEST(SearchSession, BelievesOfProposalsWhatTheStoreTook) {
  SearchSession session = Session();
  (void)session.Begin();
  (void)session.Propose(0, 2);
  session.Proposed(0, kTrial);
  const auto first = session.Take(Proposed(0));
  EXPECT_THAT(*std::get<SearchHasProposed>((*first)[0]).answer, SizeIs(1));
  (void)session.Propose(0, 2);
  const auto second = session.Take(Proposed(0, Unavailable("propose trials: disk full")));
  EXPECT_EQ(std::get<SearchHasProposed>((*second)[0]).answer.status().message(), "propose trials: disk full");
}

TEST(SearchSession, IsBrokenWhenTheSecondProcessDies) {
  SearchSession session = Session();
  v1::SearchAnswer busy;
  busy.set_busy(true);
  (void)session.Begin();
  (void)session.Take(busy);
  const std::vector<SearchEvent> first = session.Ended("died with SIGSEGV");
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_FALSE(std::get<SearchIsBusy>(first[0]).is_busy);
  EXPECT_FALSE(session.is_broken());
  (void)session.Begin();
  (void)session.Ended("died with SIGSEGV");
  EXPECT_TRUE(session.is_broken());
  EXPECT_THAT(
      session.WhyBroken().message(),
      HasSubstr("search of this job: 2 of its processes have died, the last one died with SIGSEGV; something in "
                "what it is to tune"));
}

struct NonsenseCase {
  const char* name;
  void (*say)(v1::SearchAnswer& answer);
  const char* message;
};
class NonsenseTest : public testing::TestWithParam<NonsenseCase> {};
TEST_P(NonsenseTest, IsRefused) {
  SearchSession session = Session();
  (void)session.Begin();
  (void)session.Prepare(0);
  (void)session.ChooseFinalists(1);
  v1::SearchAnswer answer = Prepared(0, SomeTask());
  GetParam().say(answer);
  const auto events = session.Take(answer);
  EXPECT_EQ(events.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(events.status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Answers, NonsenseTest,
    testing::Values(NonsenseCase{"Nothing", [](v1::SearchAnswer& a) { a.Clear(); }, "it says nothing"},
                    NonsenseCase{"OfATaskThatIsNone", [](v1::SearchAnswer& a) { a.mutable_prepared()->set_task(9); },
                                 "what was prepared of task 9, which nobody asked for"},
                    NonsenseCase{"ProposalsUnasked", [](v1::SearchAnswer& a) { a = Proposed(0); },
                                 "what was proposed of task 0, which nobody asked for"},
                    NonsenseCase{"NegativeFlops", [](v1::SearchAnswer& a) { a.mutable_prepared()->set_flops(-1); },
                                 "an amount of -1"},
                    NonsenseCase{"NoDigest",
                                 [](v1::SearchAnswer& a) { a.mutable_prepared()->set_untuned_trace("short"); },
                                 "digest"},
                    NonsenseCase{"ToleranceThatIsNoNumber",
                                 [](v1::SearchAnswer& a) {
                                   a.mutable_prepared()->mutable_measurement()->set_tolerances(0, std::nan(""));
                                 },
                                 "a tolerance of nan"},
                    NonsenseCase{"RangeBackwards",
                                 [](v1::SearchAnswer& a) {
                                   a.mutable_prepared()->mutable_measurement()->mutable_input_ranges(0)->set_low(99);
                                 },
                                 "an input range whose end is before its begin"},
                    NonsenseCase{"FinalistOfAnotherName",
                                 [](v1::SearchAnswer& a) {
                                   v1::SearchFinalists& finals = *a.mutable_finalists();
                                   finals.set_task(1);
                                   finals.add_finalists()->set_trace_json("[]");
                                   finals.mutable_finalists(0)->set_trace_digest(std::string(Sha256("other").raw()));
                                 },
                                 "a trace that has another digest"},
                    NonsenseCase{"OutcomeOfNoState",
                                 [](v1::SearchAnswer& a) {
                                   v1::SearchFinalists& finals = *a.mutable_finalists();
                                   finals.set_task(1);
                                   finals.add_rounds()->set_state(99);
                                   finals.mutable_rounds(0)->set_trace_digest(std::string(Sha256("x").raw()));
                                 },
                                 "a state of trials that is none"}),
    [](const auto& info) { return info.param.name; });

TEST(SearchMessages, CarryFinals) {
  PreparedFinals finals{.measurement = SomeTask().measurement,
                        .finalists = {{Sha256("[]"), "[]", 5, Sha256("module")}}};
  finals.measurement.policy = FinalPolicy();
  TuningRecord round{.trace_digest = Sha256("[]"), .status = TrialState::kOk};
  round.timings = Timings{.median_ns = 3, .ci_low_ns = 2, .ci_high_ns = 4};
  finals.rounds = {round};
  const auto back = FromMessage(ToMessage(2, StatusOr<PreparedFinals>(finals)));
  ASSERT_TRUE(back.ok() && back->ok()) << back.status().message();
  EXPECT_EQ((*back)->finalists[0].module_digest, Sha256("module"));
  EXPECT_EQ((*back)->rounds, finals.rounds);
  EXPECT_EQ((*back)->measurement.policy.version, FinalPolicy().version);
}

TEST(SearchMessages, AreCutFromAStream) {
  std::string stream;
  v1::SearchAnswer said, heard;
  said.set_busy(true);
  AppendSearchMessage(said, stream);
  AppendSearchMessage(said, stream);
  std::string part = stream.substr(0, 5);
  EXPECT_FALSE(*TakeSearchMessage(part, heard));
  EXPECT_TRUE(*TakeSearchMessage(stream, heard));
  EXPECT_TRUE(heard.busy());
  EXPECT_TRUE(*TakeSearchMessage(stream, heard));
  EXPECT_FALSE(*TakeSearchMessage(stream, heard));
  std::string huge = "\xff\xff\xff\xff";
  EXPECT_THAT(TakeSearchMessage(huge, heard).status().message(), HasSubstr("4294967295 bytes, at most 67108864"));
}

}  // namespace
}  // namespace lathe
