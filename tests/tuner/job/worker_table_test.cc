#include "tuner/job/worker_table.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const TimePoint kMorning{std::chrono::hours(1)};

v1::BuildTask TaskFor(int64_t trial, int32_t attempt = 1) {
  v1::BuildTask task;
  task.set_trial_id(trial);
  task.set_attempt(attempt);
  task.set_workload(std::string(32, 'w'));
  return task;
}

v1::SynchronizeRequest From(const std::string& worker, uint64_t sequence, uint64_t accepted = 0, int slots = 2) {
  v1::SynchronizeRequest request;
  request.mutable_worker()->set_name(worker);
  request.mutable_worker()->set_instance(1);
  request.mutable_worker()->set_slots(slots);
  request.set_sequence(sequence);
  request.set_accepted_revision(accepted);
  return request;
}

v1::BuildState& Declare(v1::SynchronizeRequest& request, int64_t trial, int32_t attempt = 1) {
  v1::BuildState& state = *request.add_tasks();
  state.set_trial_id(trial);
  state.set_attempt(attempt);
  return state;
}

v1::SynchronizeResponse Answer(WorkerTable& table, const std::string& worker) {
  std::vector<std::string> needed;
  return table.Answer(worker, needed);
}

TEST(WorkerTable, LetsAWorkerHoldItsSlotsAndOneMore) {
  WorkerTable table;
  EXPECT_EQ(table.Capacity("w"), 0) << "not heard yet";
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  EXPECT_EQ(table.Capacity("w"), 3);
  for (int trial = 1; trial <= 3; ++trial) table.Assign("w", TaskFor(trial));
  EXPECT_EQ(table.Capacity("w"), 0);
  EXPECT_TRUE(table.HasNews("w"));
  EXPECT_THAT(Answer(table, "w").desired(), SizeIs(3));
  v1::SynchronizeRequest draining = From("w", 2);
  draining.set_is_draining(true);
  ASSERT_TRUE(table.Hear(draining, kMorning).ok());
  table.Done("w", 1, 1);
  EXPECT_EQ(table.Capacity("w"), 0) << "it drains";
}

TEST(WorkerTable, SendsATextOnceAndOnlyToWhoLacksIt) {
  WorkerTable table;
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  table.Assign("w", TaskFor(1));
  table.Assign("w", TaskFor(2));
  std::vector<std::string> needed;
  (void)table.Answer("w", needed);
  EXPECT_THAT(needed, ElementsAre(std::string(32, 'w')));
  v1::SynchronizeRequest knows = From("w", 2);
  knows.add_known_workloads(std::string(32, 'w'));
  ASSERT_TRUE(table.Hear(knows, kMorning).ok());
  needed.clear();
  (void)table.Answer("w", needed);
  EXPECT_THAT(needed, IsEmpty());
}

TEST(WorkerTable, ReportsAFinishedTaskUntilItIsDone) {
  WorkerTable table;
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  table.Assign("w", TaskFor(5));
  for (uint64_t sequence = 2; sequence < 4; ++sequence) {
    v1::SynchronizeRequest request = From("w", sequence);
    Declare(request, 5).mutable_artifact()->set_size(3);
    EXPECT_THAT(table.Hear(request, kMorning)->finished, SizeIs(1));
  }
  table.Done("w", 5, 1);
  EXPECT_TRUE(table.HasNews("w")) << "the worker is to be told that it was taken";
  v1::SynchronizeRequest late = From("w", 4);
  Declare(late, 5).mutable_artifact()->set_size(3);
  EXPECT_THAT(table.Hear(late, kMorning)->finished, IsEmpty());
  EXPECT_THAT(Answer(table, "w").desired(), IsEmpty());
}

TEST(WorkerTable, CallsATaskUndeliverableOnlyAfterAnswersThatTheWorkerTookIn) {
  WorkerTable table(100);
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  table.Assign("w", TaskFor(5));
  uint64_t sequence = 1;
  for (int blind = 0; blind < 10; ++blind) {  // Calls that crossed the answers.
    (void)Answer(table, "w");
    EXPECT_THAT(table.Hear(From("w", ++sequence), kMorning)->undeliverable, IsEmpty());
  }
  for (int lost = 1; lost <= kMaxLostDeliveries; ++lost) {
    const uint64_t told = Answer(table, "w").revision();
    EXPECT_THAT(table.Hear(From("w", ++sequence, told), kMorning)->undeliverable,
                SizeIs(lost == kMaxLostDeliveries ? 1 : 0));
  }
}

TEST(WorkerTable, TellsARestartedWorkerWhatItHad) {
  WorkerTable table;
  ASSERT_TRUE(table.Hear(From("w", 90), kMorning).ok());
  table.Assign("w", TaskFor(5));
  v1::SynchronizeRequest building = From("w", 91);
  Declare(building, 5).set_is_building(true);
  EXPECT_THAT(table.Hear(building, kMorning)->started, ElementsAre(std::pair<int64_t, int32_t>(5, 1)));
  EXPECT_EQ(table.Building(), 1);
  v1::SynchronizeRequest fresh = From("w", 1);  // A new process counts from 1 again.
  fresh.mutable_worker()->set_instance(2);
  ASSERT_TRUE(table.Hear(fresh, kMorning).ok());
  EXPECT_EQ(table.Building(), 0);
  EXPECT_THAT(Answer(table, "w").desired(), SizeIs(1));
}

TEST(WorkerTable, IgnoresADeclarationThatWasOvertaken) {
  WorkerTable table;
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  table.Assign("w", TaskFor(5));
  v1::SynchronizeRequest later = From("w", 3);
  Declare(later, 5).mutable_artifact()->set_size(3);
  EXPECT_THAT(table.Hear(later, kMorning)->finished, SizeIs(1));
  EXPECT_THAT(table.Hear(From("w", 2), kMorning)->undeliverable, IsEmpty());
  EXPECT_FALSE(table.HasNews("w"));
}

TEST(WorkerTable, ForgetsAWorkerThatIsSilent) {
  WorkerTable table;
  table.Restore("from-the-store", kMorning);
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning + std::chrono::seconds(30)).ok());
  EXPECT_EQ(table.NextDeadline(), kMorning + kWorkerForgottenAfter);
  EXPECT_THAT(table.PassTime(kMorning + kWorkerForgottenAfter), ElementsAre("from-the-store"));
  EXPECT_THAT(table.PassTime(kMorning + kWorkerForgottenAfter), IsEmpty());
}

v1::SynchronizeRequest OfInstance(uint64_t instance, uint64_t sequence) {
  v1::SynchronizeRequest request = From("w", sequence);
  request.mutable_worker()->set_instance(instance);
  return request;
}

TEST(WorkerTable, OneOfTwoProcessesOfOneNameIsTurnedAway) {
  WorkerTable table;
  ASSERT_TRUE(table.Hear(OfInstance(1, 1), kMorning).ok());
  ASSERT_TRUE(table.Hear(OfInstance(2, 1), kMorning).ok()) << "a worker that was started again";
  for (uint64_t sequence = 2; sequence < 5; ++sequence) {
    const auto former = table.Hear(OfInstance(1, sequence), kMorning);
    EXPECT_EQ(former.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(former.status().message(), testing::HasSubstr("synchronize worker \"w\": another process has taken"));
    EXPECT_TRUE(table.Hear(OfInstance(2, sequence), kMorning).ok());
  }
}

TEST(WorkerTable, AProcessThatWasSilentComesBackUnlessAnotherHasTakenItsName) {
  const TimePoint noon = kMorning + kWorkerForgottenAfter;
  WorkerTable table;
  ASSERT_TRUE(table.Hear(OfInstance(1, 1), kMorning).ok());
  ASSERT_TRUE(table.Hear(OfInstance(2, 1), kMorning).ok());
  EXPECT_THAT(table.PassTime(noon), ElementsAre("w"));
  EXPECT_TRUE(table.Hear(OfInstance(1, 2), noon).ok()) << "nobody else is there";
  EXPECT_TRUE(table.Hear(OfInstance(3, 1), noon).ok());
  EXPECT_EQ(table.Hear(OfInstance(1, 3), noon).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(table.Hear(OfInstance(2, 3), noon).code(), StatusCode::kAlreadyExists) << "from before it was forgotten";
  EXPECT_TRUE(table.Hear(OfInstance(3, 2), noon).ok());
}

TEST(WorkerTable, AnAnswerOfAnotherServersLifeIsNoAnswer) {
  WorkerTable table(100);
  ASSERT_TRUE(table.Hear(From("w", 1), kMorning).ok());
  table.Assign("w", TaskFor(5));
  for (uint64_t sequence = 2; sequence < 9; ++sequence) {
    (void)Answer(table, "w");  // Lost.
    EXPECT_THAT(table.Hear(From("w", sequence, 9'000'000), kMorning)->undeliverable, IsEmpty());
  }
}

}  // namespace
}  // namespace lathe
