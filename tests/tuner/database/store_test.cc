// The contract of every Store. A further kind of store is one line in the table of store_testing.h.
#include "tuner/database/store.h"

#include <thread>

#include "store_testing.h"

namespace lathe {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using S = TrialState;

class StoreTest : public EveryStoreTest {};

TEST_P(StoreTest, KeepsTheFirstTextOfAWorkload) {
  Workload workload = MakeWorkload();
  EXPECT_EQ(store_.PutWorkload(workload)->text, "text 0");
  workload.text = "the same program with other names";
  EXPECT_EQ(store_.PutWorkload(workload)->text, "text 0");
  EXPECT_EQ(store_.GetWorkload(workload.digest)->text, "text 0");
  EXPECT_EQ(store_.GetWorkload(Sha256("?")).code(), StatusCode::kNotFound);
}

TEST_P(StoreTest, FindsAWorkloadByTheStartOfItsDigest) {
  const Digest digest = store_.PutWorkload(MakeWorkload())->digest;
  (void)store_.PutWorkload(MakeWorkload(1));
  for (const size_t length : {8, 9, 63, 64})
    EXPECT_THAT(*store_.FindWorkloads(digest.ToHex().substr(0, length)), ElementsAre(digest));
  EXPECT_TRUE(store_.FindWorkloads("00000000")->empty());
  EXPECT_THAT(store_.FindWorkloads("abc").status().message(), HasSubstr("3 characters, 8 to 64 hex digits required"));
  EXPECT_THAT(store_.FindWorkloads("zzzzzzzz").status().message(), HasSubstr("not all hex digits"));
}

AskedWorkload Asked(int n, const std::string& target = MakeKey().target) {
  return {.workload = MakeWorkload(n), .target = target, .network = "net.onnx", .weight = 2};
}

TEST_P(StoreTest, CountsWhatBuildsAskedForAndListsWhatIsStillUnknown) {
  ASSERT_TRUE(store_.RecordAsked(std::vector{Asked(0), Asked(1), Asked(0, "llvm -mcpu=other")}).ok());
  clock_.Advance(seconds(5));
  AskedWorkload again = Asked(1);
  again.network = "other.onnx";
  again.weight = 7;
  again.workload.text = "other names";
  ASSERT_TRUE(store_.RecordAsked(std::vector{again}).ok());
  const auto all = *store_.ListAsked("", {});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].asked, Asked(0));
  EXPECT_EQ(all[0].times, 1);
  EXPECT_EQ(all[1].times, 2);
  EXPECT_EQ(all[1].asked.network, "other.onnx");
  EXPECT_EQ(all[1].asked.weight, 7);
  EXPECT_EQ(all[1].asked.workload.text, "text 1");
  EXPECT_EQ(all[1].last_unix_ns - all[1].first_unix_ns, 5 * kSecond);
  EXPECT_EQ(store_.ListAsked("llvm -mcpu=other", {})->size(), 1u);
  EXPECT_EQ(store_.ListAsked("", {.after_id = all[1].id, .limit = 10})->size(), 1u);
  EXPECT_EQ(store_.ListAsked("", {.limit = 2})->size(), 2u);

  Scene(store_).Measure(1, 1000);  // Workload 0, for the first target.
  const auto rest = *store_.ListAsked("", {});
  ASSERT_EQ(rest.size(), 2u);
  EXPECT_EQ(rest[0].asked.workload.digest, MakeWorkload(1).digest);
  EXPECT_EQ(rest[1].asked.target, "llvm -mcpu=other");
}

TEST_P(StoreTest, ForgetsWhatWasAskedForLongestAgo) {
  ASSERT_TRUE(store_.RecordAsked(std::vector{Asked(-1), Asked(-2)}).ok());
  clock_.Advance(seconds(1));
  std::vector<AskedWorkload> many;
  for (int n = 0; n < kMostAsked - 1; ++n) many.push_back(Asked(n));
  ASSERT_TRUE(store_.RecordAsked(many).ok());
  clock_.Advance(seconds(1));
  EXPECT_EQ(store_.ListAsked("", {.limit = 20'000})->size(), static_cast<size_t>(kMostAsked));
  EXPECT_EQ(store_.ListAsked("", {.limit = 1})->front().asked, Asked(-2)) << "-1 came first";
  ASSERT_TRUE(store_.RecordAsked(std::vector{Asked(-2)}).ok());
  ASSERT_TRUE(store_.RecordAsked(std::vector{Asked(-3)}).ok());
  EXPECT_EQ(store_.ListAsked("", {.limit = 1})->front().asked, Asked(-2)) << "asked for again, it stays";
  EXPECT_EQ(store_.ListAsked("", {.limit = 20'000})->size(), static_cast<size_t>(kMostAsked));
}

TEST_P(StoreTest, KeepsWhatASearchSaysOfItsModel) {
  const Scene scene(store_);
  const ModelRound first{.trials = 16, .at_unix_ns = kNow, .batch = 16, .rows = 16, .pairs = 99, .pairs_right = 80};
  ModelRound second{.trials = 32, .at_unix_ns = kNow, .batch = 16, .rows = 48, .regret_at_1 = 0.5, .trees = 18};
  ASSERT_TRUE(store_.RecordModelRound(scene.task_id, second).ok());
  ASSERT_TRUE(store_.RecordModelRound(scene.task_id, first).ok());
  EXPECT_THAT(*store_.ListModelRounds(scene.task_id), ElementsAre(first, second));
  second.draft_weight = 0.25;  // Said again by a process that did not know.
  ASSERT_TRUE(store_.RecordModelRound(scene.task_id, second).ok());
  EXPECT_THAT(*store_.ListModelRounds(scene.task_id), ElementsAre(first, second));
  EXPECT_THAT(store_.RecordModelRound(77, first).message(), HasSubstr("77"));
}

TEST_P(StoreTest, ReturnsTheSameJobForARepeatedRequest) {
  (void)store_.PutWorkload(MakeWorkload());
  NewJob job{"request-1", "resnet", "{\"trials\":64}", {{MakeKey(), "conv", 2, 64}}};
  const auto first = store_.CreateJob(job), second = store_.CreateJob(job);
  EXPECT_TRUE(first->created);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(first->job.id, second->job.id);
  job.tasks[0].trial_budget = 65;
  const auto other = store_.CreateJob(job);
  EXPECT_EQ(other.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(other.status().message(),
              HasSubstr("request id request-1 belongs to job 1, which asks for something else"));
}

TEST_P(StoreTest, RefusesAJobWithoutItsWorkloadAndLeavesNothingBehind) {
  const auto job = store_.CreateJob({"r", "net", "{}", {{MakeKey(), "conv", 1, 8}}});
  EXPECT_EQ(job.code(), StatusCode::kNotFound);
  EXPECT_THAT(job.status().message(), HasSubstr("put the workload first"));
  EXPECT_TRUE(store_.ListJobs({})->empty());
  EXPECT_EQ(store_.CreateJob({"r", "net", "{}", {}}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store_.CreateJob({"", "net", "{}", {{MakeKey(), "conv", 1, 8}}}).code(), StatusCode::kInvalidArgument);
}

TEST_P(StoreTest, GivesTasksInTheirOrderWithTheirKeys) {
  (void)store_.PutWorkload(MakeWorkload(0));
  (void)store_.PutWorkload(MakeWorkload(1));
  const int64_t job =
      store_.CreateJob({"r", "net", "{}", {{MakeKey(1), "second", 3, 8}, {MakeKey(0), "first", 1, 9}}})->job.id;
  const auto tasks = store_.ListTasks(job);
  ASSERT_EQ(tasks->size(), 2u);
  EXPECT_EQ((*tasks)[0].name, "second");
  EXPECT_EQ((*tasks)[0].key, MakeKey(1));
  EXPECT_EQ((*tasks)[0].weight, 3);
  EXPECT_EQ((*tasks)[1].trial_budget, 9);
  EXPECT_EQ(store_.GetTask((*tasks)[1].id)->key, MakeKey(0));
}

TEST_P(StoreTest, PagesJobs) {
  (void)store_.PutWorkload(MakeWorkload());
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(store_.CreateJob({fmt::format("r{}", i), "net", "{}", {{MakeKey(), "conv", 1, 8}}}).ok());
  const auto page = store_.ListJobs({0, 3});
  ASSERT_EQ(page->size(), 3u);
  const auto rest = store_.ListJobs({page->back().id, 3});
  ASSERT_EQ(rest->size(), 2u);
  EXPECT_EQ(rest->front().request_id, "r3");
}

TEST_P(StoreTest, NeverLeavesTheEndOfAJob) {
  Scene scene(store_);
  EXPECT_TRUE(store_.SetJobState(scene.job_id, JobState::kRunning, "waits for a device \"rpi4\"").ok());
  EXPECT_EQ(store_.GetJob(scene.job_id)->detail, "waits for a device \"rpi4\"");
  EXPECT_TRUE(store_.SetJobState(scene.job_id, JobState::kDone, "").ok());
  const Status status = store_.SetJobState(scene.job_id, JobState::kRunning, "");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("it is DONE already"));
  EXPECT_EQ(store_.CancelJob(scene.job_id, "late")->state, JobState::kDone);
}

TEST_P(StoreTest, TakesATraceOncePerTask) {
  Scene scene(store_);
  const std::vector<NewTrial> trials{MakeTrial(1), MakeTrial(2), MakeTrial(1)};
  const auto ids = store_.ProposeTrials(scene.task_id, trials, S::kProposed);
  EXPECT_TRUE((*ids)[0].has_value());
  EXPECT_TRUE((*ids)[1].has_value());
  EXPECT_FALSE((*ids)[2].has_value());
  EXPECT_EQ(*store_.ClaimForBuild("w", 0, {}), std::nullopt) << "a proposal is not released yet";
  EXPECT_TRUE(*store_.AdvanceTrial({.trial_id = *(*ids)[1]}, S::kBuildQueued));
  EXPECT_EQ((**store_.ClaimForBuild("w", 0, {})).trace_json, trials[1].trace_json);
}

TEST_P(StoreTest, WalksATrialFromProposalToRecord) {
  Scene scene(store_);
  const int64_t id = scene.Propose(1);
  const TrialRow building = **store_.ClaimForBuild("worker-1", 3, {.job_id = scene.job_id});
  EXPECT_EQ(building.state, S::kBuilding);
  EXPECT_EQ(building.worker, "worker-1");
  EXPECT_EQ(building.slot, 3);
  EXPECT_EQ(building.attempt, 1);
  EXPECT_EQ(store_.CommitBuild({id, 1, BuiltArtifact{Sha256("m"), 9}, "{}"}, S::kBuilt)->trial_state, S::kBuilt);
  EXPECT_TRUE(*store_.AdvanceTrial({id, 1}, S::kMeasureQueued));
  EXPECT_TRUE(IsReferenced(store_, Sha256("m")));
  scene.Lease();
  const TrialRow running = scene.Run(id);
  EXPECT_EQ(running.attempt, 2);
  EXPECT_EQ(running.device_id, scene.device_id);
  clock_.Advance(Duration(5));
  const auto answer = store_.CommitResult(scene.ResultOf(running, 1000));
  EXPECT_EQ(answer->ack, Ack::kAccepted);
  EXPECT_EQ(answer->trial_state, S::kOk);
  EXPECT_TRUE(answer->new_best);
  EXPECT_FALSE(IsReferenced(store_, Sha256("m")));

  const TuningRecord record = store_.ListRecords({})->front();
  EXPECT_EQ(record.id, answer->record_id);
  EXPECT_EQ(record.key, MakeKey());
  EXPECT_EQ(record.trace_json, MakeTrial(1).trace_json);
  EXPECT_EQ(record.seed, MakeTrial(1).seed);
  EXPECT_EQ(record.device, "rpi4-01");
  EXPECT_EQ(record.module_digest, Sha256("m"));
  EXPECT_EQ(*record.timings, MakeTimings(1000));
  EXPECT_EQ(record.environment, "{\"governor\":\"performance\"}");
  EXPECT_EQ(record.committed_unix_ns, kNow + 5);
  EXPECT_FALSE(record.late);
}

TEST_P(StoreTest, RecordsAFailedBuildInTheCompilersWords) {
  Scene scene(store_);
  const int64_t id = scene.Propose(1);
  const TrialRow claim = **store_.ClaimForBuild("w", 0, {});
  const BuildReport failed{id, claim.attempt, BuildFailure{S::kBuildError, "register tile spills"}, "{}"};
  EXPECT_EQ(store_.CommitBuild(failed, S::kMeasureQueued)->ack, Ack::kAccepted);
  EXPECT_EQ(store_.CommitBuild(failed, S::kMeasureQueued)->ack, Ack::kDuplicate);
  EXPECT_EQ(store_.GetTrial(id)->error, "register tile spills");
  EXPECT_EQ(store_.ListRecords({})->size(), 1u);
  EXPECT_EQ(scene.Counts().trials_done, 1);
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 1);
  EXPECT_EQ((*store_.QueryBest(std::vector{MakeKey()}))[0].lookup, Lookup::kMiss);
}

TEST_P(StoreTest, GivesADeviceOnlyTrialsOfItsClass) {
  Scene scene(store_);
  scene.Build(1);
  const int64_t other = store_.RegisterDevice({"h100-01", "h100", "{}", 0})->id;
  const int64_t epoch = store_.GrantLease(other, "job", seconds(1), 0)->epoch;
  EXPECT_EQ(*store_.ClaimForMeasure(other, epoch, {}), std::nullopt);
}

TEST_P(StoreTest, MeasuresANoisyTrialOnceMore) {
  Scene scene(store_);
  scene.Lease();
  const int64_t id = scene.Build(1);
  EXPECT_EQ(store_.CommitResult(scene.ResultOf(scene.Run(id), 900, S::kNoisy))->trial_state, S::kMeasureQueued);
  EXPECT_EQ(scene.Counts().trials_done, 0);
  EXPECT_EQ(store_.CommitResult(scene.ResultOf(scene.Run(id), 950, S::kNoisy))->trial_state, S::kNoisy);
  EXPECT_EQ(scene.Counts().trials_done, 1);
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 1) << "two records of one trace are one measured trace";
}

TEST_P(StoreTest, TriesAgainAfterAPauseAndGivesUpAfterThreeRetries) {
  Scene scene(store_);
  const int64_t id = scene.Propose(1);
  for (const int64_t pause : {1, 4, 16}) {
    const TrialRow claim = **store_.ClaimForBuild("w", 0, {});
    EXPECT_EQ(store_.FailAttempt({id, claim.attempt}, InfraFailure::kOther, "connection lost")->trial_state,
              S::kBuildQueued);
    clock_.Advance(seconds(pause) - Duration(1));
    EXPECT_EQ(*store_.ClaimForBuild("w", 0, {}), std::nullopt);
    clock_.Advance(Duration(1));
  }
  (void)store_.ClaimForBuild("w", 0, {});
  EXPECT_THAT(*store_.LoseWorker("w"), ElementsAre(id));
  EXPECT_EQ(scene.StateOf(id), S::kInfraFailed);
  EXPECT_EQ(store_.GetTrial(id)->error, "worker lost: w");
  EXPECT_EQ(scene.Counts().trials_done, 1) << "or the job would never end";
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 0) << "it says nothing about the candidate, so another job may try it";
}

TEST_P(StoreTest, AWallClockThatIsSetBackFreezesNothing) {
  Scene scene(store_);
  const int64_t id = scene.Propose(1);
  const TrialRow claim = **store_.ClaimForBuild("w", 0, {});
  (void)store_.FailAttempt({id, claim.attempt}, InfraFailure::kOther, "connection lost");
  clock_.StepWallClock(-std::chrono::hours(1));
  clock_.Advance(seconds(1));
  EXPECT_TRUE(store_.ClaimForBuild("w", 0, {})->has_value()) << "its second of waiting is over";
  scene.Lease();
  const std::vector<EventRow> events = *store_.ReadEvents(0, std::nullopt, 100);
  EXPECT_TRUE(std::ranges::is_sorted(events, {}, &EventRow::at_unix_ns));
  EXPECT_EQ(events.back().at_unix_ns, kNow + kSecond);
}

TEST_P(StoreTest, TellsWhoHadATrialAndWhatBecameOfThat) {
  Scene scene(store_);
  scene.Lease();
  const int64_t id = scene.Build(1);
  const RunResult first = scene.ResultOf(scene.Run(id), 100);
  ASSERT_TRUE(
      store_.FailAttempt({id, first.attempt, first.device_id, first.epoch}, InfraFailure::kOther, "disk full").ok());
  clock_.Advance(seconds(1));
  ASSERT_EQ(store_.CommitResult(scene.ResultOf(scene.Run(id), 100))->ack, Ack::kAccepted);
  const std::vector<AttemptRow> attempts = *store_.ListAttempts(id);
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_NE(attempts[0].worker, "");
  EXPECT_EQ(attempts[0].state, "REPORTED");
  EXPECT_EQ(attempts[1].device, "rpi4-01");
  EXPECT_EQ(attempts[1].state, "FAILED");
  EXPECT_THAT(attempts[1].error, HasSubstr("disk full"));
  EXPECT_EQ(attempts[2].state, "REPORTED");
  EXPECT_EQ(attempts[2].error, "");
  EXPECT_GT(attempts[2].ended_unix_ns, 0);
  const std::vector<TuningRecord> records = *store_.RecordsOfTrial(id);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].timings->median_ns, 100);
  EXPECT_TRUE(store_.ListAttempts(id + 1)->empty());
}

TEST_P(StoreTest, CallsAModulePoisonWhenItTookDownTwoDevices) {
  Scene scene(store_);
  const int64_t killer = scene.Build(1, "bad"), twin = scene.Build(2, "bad"), innocent = scene.Build(3);
  scene.Lease();
  scene.Run(killer);
  const int64_t waiting = scene.Claim(innocent).id;
  EXPECT_THAT(*store_.LoseDevice(scene.device_id), ElementsAre(killer, waiting));
  EXPECT_EQ(scene.StateOf(killer), S::kMeasureQueued);
  clock_.Advance(seconds(1));
  scene.Lease();
  scene.Run(killer);
  (void)store_.LoseDevice(scene.device_id);
  EXPECT_EQ(scene.StateOf(killer), S::kMeasureQueued) << "the same device twice is one device";
  scene.device_id = store_.RegisterDevice({"rpi4-02", "rpi4", "{}", 0})->id;
  clock_.Advance(seconds(4));
  scene.Lease();
  scene.Run(killer);
  (void)store_.LoseDevice(scene.device_id);
  EXPECT_EQ(scene.StateOf(killer), S::kPoison);
  EXPECT_EQ(scene.StateOf(twin), S::kPoison);
  EXPECT_EQ(scene.StateOf(innocent), S::kMeasureQueued);
  EXPECT_EQ(scene.StateOf(scene.Build(4, "bad")), S::kPoison) << "a later build of the same module";
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 3);
}

TEST_P(StoreTest, CancelsWhatIsOpenAndKeepsWhatIsDone) {
  Scene scene(store_);
  scene.Measure(1, 500);
  const int64_t queued = scene.Propose(2), built = scene.Build(3), running = scene.Build(4);
  const TrialRow claim = scene.Run(running);
  EXPECT_EQ(store_.CancelJob(scene.job_id, "by the user")->state, JobState::kCancelled);
  for (const int64_t id : {queued, built, running}) EXPECT_EQ(scene.StateOf(id), S::kCancelled);
  EXPECT_EQ(store_.ListTasks(scene.job_id)->front().state, JobState::kCancelled);
  EXPECT_EQ(scene.Counts().trials_done, 1);
  EXPECT_EQ(scene.Counts().trials_open, 0);
  EXPECT_FALSE(IsReferenced(store_, *claim.module_digest));
  const auto late = store_.CommitResult(scene.ResultOf(claim, 100));
  EXPECT_EQ(late->ack, Ack::kStale);
  EXPECT_EQ(scene.Counts().trials_done, 1);
  EXPECT_EQ(store_.ProposeTrials(scene.task_id, std::vector{MakeTrial(9)}, S::kProposed).code(),
            StatusCode::kFailedPrecondition);
}

TEST_P(StoreTest, CountsForALaterJobWhatAnEarlierOneMeasured) {
  Scene first(store_);
  for (int n = 0; n < 4; ++n) first.Measure(n, 1000 + n);
  Scene second(store_, 0, "request-2");
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 4);
  const auto traces = store_.MeasuredTraces(MakeKey());
  for (int n = 0; n < 4; ++n) EXPECT_THAT(*traces, testing::Contains(MakeTrial(n).trace_digest));
  EXPECT_EQ(second.Counts().trials_done, 0);
  TuningKey newer = MakeKey();
  newer.policy_version = 8;
  EXPECT_EQ(*store_.CountMeasured(newer), 0);
  // The search starts again from what is known, best first.
  const auto history = WholeHistory(store_, MakeKey());
  ASSERT_EQ(history->size(), 4u);
  EXPECT_EQ((*history)[0].timings->median_ns, 1000);
  EXPECT_EQ((*history)[2].timings->median_ns, 1002);
}

TEST_P(StoreTest, OrdersHistoryFromBestToFailed) {
  Scene scene(store_);
  scene.Measure(1, 50, S::kCensored);
  scene.Measure(2, 0, S::kCrash);
  scene.Measure(3, 200);
  scene.Measure(4, 100);
  std::vector<S> outcomes;
  const std::vector<TuningRecord> history = *WholeHistory(store_, MakeKey());
  for (const TuningRecord& record : history) outcomes.push_back(record.status);
  EXPECT_THAT(outcomes, ElementsAre(S::kOk, S::kOk, S::kCensored, S::kCrash));
  EXPECT_EQ(history.front().timings->median_ns, 100);
  const std::vector<TuningRecord> page = *store_.History(MakeKey(), {history.back().id, 1});
  ASSERT_EQ(page.size(), 1u);
  EXPECT_EQ(page[0].timings->median_ns, 200) << "pages are in order of commit";
  EXPECT_EQ(store_.RecordsOf(MakeKey(), MakeTrial(3).trace_digest)->size(), 1u);
  EXPECT_EQ(store_.RecordsOf(MakeKey(1), MakeTrial(3).trace_digest)->size(), 0u);
  const std::vector<int64_t> trials{*history[0].trial_id, *history[3].trial_id, 99};
  EXPECT_THAT(*store_.MediansOf(trials), ElementsAre(100, std::nullopt, std::nullopt));
}

TEST_P(StoreTest, ReadsSomeOfALongHistory) {
  Scene scene(store_);
  for (int n = 0; n < 40; ++n) scene.Measure(n, n == 17 ? 5 : 100 + (n * 7) % 40);
  scene.Measure(40, 0, S::kCrash);
  const TrialRow best = *store_.GetTrial(18);
  const NewFinalist finalist{best.trace_digest, best.trace_json, best.seed, best.module_digest};
  const auto round = *store_.BeginFinalRound(scene.task_id, 1, std::vector{finalist});
  ASSERT_TRUE(store_.CommitResult(scene.ResultOf(scene.Run(round[0].id), 6)).ok());
  const auto all = [](const RecordOutcome&) { return true; };
  const PartOfHistory whole = *SomeHistory(store_, MakeKey(), 42, std::nullopt, all);
  EXPECT_TRUE(whole.is_whole);
  EXPECT_EQ(whole.records, *WholeHistory(store_, MakeKey()));

  const Digest also = MakeTrial(40).trace_digest;
  const PartOfHistory part = *SomeHistory(store_, MakeKey(), 12, also, all);
  EXPECT_FALSE(part.is_whole);
  EXPECT_GE(part.records.size(), 12u);
  EXPECT_LE(part.records.size(), 14u) << "six of the fastest, six of all, a final, and what was asked for";
  EXPECT_EQ(part.records[0].timings->median_ns, 5) << "best first";
  const auto count = [&](auto what) { return std::ranges::count_if(part.records, what); };
  EXPECT_EQ(count([](const TuningRecord& r) { return r.final_round > 0; }), 1);
  EXPECT_EQ(count([&](const TuningRecord& r) { return r.trace_digest == also; }), 1);
  EXPECT_EQ(count([](const TuningRecord& r) { return r.timings && r.timings->median_ns < 104; }), 6)
      << "5 and 6, and the fastest four of the others";
  const PartOfHistory own =
      *SomeHistory(store_, MakeKey(), 12, also, [](const RecordOutcome& r) { return r.trial_id.value_or(0) <= 3; });
  EXPECT_TRUE(own.is_whole);
  EXPECT_EQ(own.records.size(), 3u) << "of those that count";
}

TEST_P(StoreTest, AnswersHitStaleOrMissAndSaysWhy) {
  Scene scene(store_);
  scene.Measure(1, 100);
  std::vector<TuningKey> keys(6, MakeKey());
  keys[1].codegen_version = {19, 4};
  keys[2].codegen_version = {20, 0};
  keys[2].policy_version = 9;
  keys[3].codegen_version = {19, 2};  // Records of a newer code generator are not for an older one.
  keys[4].target = "cuda -arch=sm_90";
  keys[5].workload = Sha256("unknown");
  const auto answers = store_.QueryBest(keys);
  ASSERT_EQ(answers->size(), 6u);
  EXPECT_EQ((*answers)[0].lookup, Lookup::kHit);
  EXPECT_EQ((*answers)[0].record->timings->median_ns, 100);
  for (const int stale : {1, 2}) {
    EXPECT_EQ((*answers)[stale].lookup, Lookup::kStale);
    EXPECT_EQ((*answers)[stale].record->key, MakeKey());
    EXPECT_THAT((*answers)[stale].explanation, HasSubstr("measured with codegen 19.3, policy 7; asked for codegen"));
  }
  for (const int miss : {3, 4, 5}) EXPECT_EQ((*answers)[miss].lookup, Lookup::kMiss);
  EXPECT_THAT((*answers)[4].explanation,
              HasSubstr("there is one for target \"llvm -mcpu=cortex-a72 -num-cores=4\" on rpi4"));
  EXPECT_THAT((*answers)[5].explanation, HasSubstr("no record of workload"));
  EXPECT_EQ(store_.ListBest(MakeKey().workload)->size(), 1u);
}

ForeignTrace MakeForeign(int n, std::optional<double> median_ns) {
  const NewTrial trial = MakeTrial(n);
  return {MakeKey().workload, trial.trace_digest, trial.trace_json, "tvm", "{\"kind\":\"llvm\"}", median_ns};
}

TEST_P(StoreTest, KeepsForeignSchedulesApartFromWhatWasMeasured) {
  (void)store_.PutWorkload(MakeWorkload());
  const std::vector traces{MakeForeign(1, std::nullopt), MakeForeign(2, 900), MakeForeign(3, 1)};
  EXPECT_EQ(*store_.ImportForeign(traces), 3);
  EXPECT_EQ(*store_.ImportForeign(traces), 0) << "twice is harmless";
  EXPECT_EQ(*store_.ListForeign(MakeKey().workload, 10), (std::vector{traces[2], traces[1], traces[0]}));
  EXPECT_EQ(*store_.ListForeign(MakeKey().workload, 1), std::vector{traces[2]});
  EXPECT_EQ((*store_.QueryBest(std::vector{MakeKey()}))[0].lookup, Lookup::kMiss);
  EXPECT_EQ(*store_.CountMeasured(MakeKey()), 0);
  EXPECT_THAT(*store_.MeasuredTraces(MakeKey()), testing::IsEmpty());
}

TEST_P(StoreTest, RefusesForeignSchedulesOfNothing) {
  const std::vector unknown{MakeForeign(1, 5)};
  EXPECT_THAT(store_.ImportForeign(unknown).status().message(), HasSubstr("has no text in the database"));
  (void)store_.PutWorkload(MakeWorkload());
  std::vector never{MakeForeign(1, 5), MakeForeign(2, -1)};
  EXPECT_THAT(store_.ImportForeign(never).status().message(), HasSubstr("its time is no time"));
  EXPECT_THAT(*store_.ListForeign(MakeKey().workload, 10), testing::IsEmpty()) << "all or nothing";
}

TEST_P(StoreTest, ServesTheNewestOfSeveralOldVersions) {
  Scene scene(store_);
  scene.Measure(1, 100);
  TuningRecord record = store_.ListRecords({})->front();
  const auto add = [&](CodegenVersion codegen, int64_t policy, double median) {
    record.result_key = Sha256(fmt::format("{} {}", codegen.ToString(), policy));
    record.key.codegen_version = codegen;
    record.key.policy_version = policy;
    record.timings = MakeTimings(median);
    EXPECT_EQ(*store_.ImportRecords(std::vector{record}), 1);
  };
  add({19, 4}, 6, 300);
  add({19, 4}, 7, 200);
  add({20, 1}, 7, 10);
  TuningKey wanted = MakeKey();
  wanted.codegen_version = {19, 9};
  EXPECT_EQ((*store_.QueryBest(std::vector{wanted}))[0].record->timings->median_ns, 200);
}

TEST_P(StoreTest, PrefersAnOkRecordToAFasterNoisyOne) {
  Scene scene(store_);
  scene.Lease(1'000'000 * kSecond);
  const int64_t id = scene.Build(1);
  (void)store_.CommitResult(scene.ResultOf(scene.Run(id), 50, S::kNoisy));
  EXPECT_EQ((*store_.QueryBest(std::vector{MakeKey()}))[0].record->status, S::kNoisy);
  EXPECT_TRUE(scene.Measure(2, 100).new_best);
  EXPECT_FALSE(scene.Measure(3, 100).new_best) << "a tie keeps the older record";
  EXPECT_FALSE(scene.Measure(4, 10, S::kCensored).new_best);
  EXPECT_EQ((*store_.QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 100);
}

TEST_P(StoreTest, RefusesTimingsThatCannotBe) {
  Scene scene(store_);
  scene.Lease();
  const TrialRow claim = scene.Run(scene.Build(1));
  RunResult result = scene.ResultOf(claim, 100);
  result.timings->median_ns = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(store_.CommitResult(result).status().message(), HasSubstr("commit result of trial 1: timings min"));
  result.timings = MakeTimings(100);
  result.timings->max_error = std::numeric_limits<double>::infinity();
  EXPECT_THAT(store_.CommitResult(result).status().message(), HasSubstr("largest error inf"));
  result.timings.reset();
  EXPECT_THAT(store_.CommitResult(result).status().message(), HasSubstr("OK comes without timings"));
  result.outcome = S::kBuildError;
  EXPECT_THAT(store_.CommitResult(result).status().message(), HasSubstr("BUILD_ERROR is no outcome of a measurement"));
  EXPECT_EQ(scene.StateOf(claim.id), S::kRunning);
}

TEST_P(StoreTest, ResumesEventsAfterACursor) {
  Scene scene(store_);
  scene.Measure(1, 100);
  const auto all = store_.ReadEvents(0, scene.job_id, 100);
  ASSERT_GE(all->size(), 3u);
  EXPECT_EQ(all->front().detail, "QUEUED");
  EXPECT_EQ(all->back().kind, "trial");
  for (size_t i = 1; i < all->size(); ++i) EXPECT_GT((*all)[i].cursor, (*all)[i - 1].cursor);
  const int64_t cursor = all->back().cursor;
  EXPECT_TRUE(store_.ReadEvents(cursor, scene.job_id, 100)->empty());
  scene.Measure(2, 50);
  const auto later = store_.ReadEvents(cursor, scene.job_id, 100);
  EXPECT_EQ(later->front().kind, "best");
  EXPECT_EQ(later->size(), 2u);
  EXPECT_GT(store_.ReadEvents(0, std::nullopt, 100)->size(), all->size()) << "devices and leases too";
}

TEST_P(StoreTest, ListsTrialsByStateAndPage) {
  Scene scene(store_);
  scene.Measure(1, 0, S::kCrash);
  scene.Measure(2, 100);
  scene.Propose(3);
  EXPECT_EQ(store_.ListTrials({.job_id = scene.job_id}, {})->size(), 3u);
  const auto crashed = store_.ListTrials({.job_id = scene.job_id, .states = {S::kCrash, S::kWrongResult}}, {});
  ASSERT_EQ(crashed->size(), 1u);
  EXPECT_EQ(crashed->front().error, "segmentation fault");
  EXPECT_EQ(store_.ListTrials({.task_id = scene.task_id}, {crashed->front().id, 1})->size(), 1u);
  EXPECT_EQ(scene.Counts().by_state[static_cast<size_t>(S::kCrash)], 1);
  EXPECT_TRUE(store_.ListTrials({.device_id = scene.device_id}, {})->empty()) << "it is through with them";
  const int64_t held = scene.Claim(scene.Build(4)).id;
  const auto of_device = store_.ListTrials({.device_id = scene.device_id}, {});
  ASSERT_EQ(of_device->size(), 1u);
  EXPECT_EQ(of_device->front().id, held);
  EXPECT_TRUE(store_.ListTrials({.device_id = scene.device_id + 1}, {})->empty());
}

TEST_P(StoreTest, LosesNothingBetweenManyThreads) {
  Scene scene(store_);
  scene.Lease(1'000'000 * kSecond);
  constexpr int kThreads = 4, kTrials = 25;
  std::vector<NewTrial> trials;
  for (int n = 0; n < kThreads * kTrials; ++n) trials.push_back(MakeTrial(n));
  ASSERT_TRUE(store_.ProposeTrials(scene.task_id, trials, S::kBuildQueued).ok());
  std::atomic<int> failures = 0;
  const auto work = [&](int thread) {
    for (int i = 0; i < kTrials; ++i) {
      const auto built = store_.ClaimForBuild(fmt::format("w{}", thread), 0, {});
      if (!built.ok() || !built->has_value()) {
        ++failures;
        continue;
      }
      const TrialRow& b = **built;
      const auto commit =
          store_.CommitBuild({b.id, b.attempt, BuiltArtifact{Sha256(b.trace_json), 1}, ""}, S::kMeasureQueued);
      const auto claimed = store_.ClaimForMeasure(scene.device_id, scene.epoch, {});
      if (!commit.ok() || !claimed.ok() || !claimed->has_value()) {
        ++failures;
        continue;
      }
      const auto answer = store_.CommitResult(scene.ResultOf(**claimed, 100 + i));
      const auto best = store_.QueryBest(std::vector{MakeKey()});
      if (!answer.ok() || answer->ack != Ack::kAccepted || !best.ok() || (*best)[0].lookup != Lookup::kHit) ++failures;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(scene.Counts().trials_done, kThreads * kTrials);
  EXPECT_EQ(store_.Stats()->records, kThreads * kTrials);
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreTest, testing::ValuesIn(kStoreKinds),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
