// What may go, and that nothing else goes.
#include "tuner/database/retention.h"

#include "store_testing.h"
#include "tests/property_runs.h"
#include "tuner/database/prune.h"
#include "tuner/database/upkeep.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using K = RetentionKind;

constexpr Duration kDay = std::chrono::hours(24);
constexpr int64_t kDayNs = Duration(kDay).count();

std::vector<int64_t> IdsOf(const std::vector<RetentionFact>& rows) {
  std::vector<int64_t> ids;
  for (const RetentionFact& row : rows) ids.push_back(row.id);
  return ids;
}
RetentionFact Fact(int64_t id, int64_t days_old, bool is_needed = false) {
  return {.id = id, .since_unix_ns = kNow - days_old * kDayNs, .is_needed = is_needed};
}

TEST(Retention, LetsGoWhatIsOldAndNotNeeded) {
  const RetentionPolicy policy{.leases = 7 * kDay};
  const RetentionVerdict verdict =
      JudgeRetention(K::kLeases, {kNow, {Fact(1, 8), Fact(2, 9, true), Fact(3, 7), Fact(4, 6)}}, policy);
  EXPECT_THAT(IdsOf(verdict.goes), ElementsAre(1, 3));
  EXPECT_FALSE(verdict.is_over) << "what is needed may stand before what is old";
  EXPECT_TRUE(JudgeRetention(K::kLeases, {kNow, {Fact(4, 6), Fact(5, 1, true)}}, policy).is_over);
  EXPECT_FALSE(JudgeRetention(K::kLeases, {kNow, {Fact(2, 9, true)}}, policy).is_over);
}

TEST(Retention, KeepsTheLatestEventsOnlyHoweverYoungTheyAre) {
  const RetentionPolicy policy{.most_events = 10};
  std::vector<RetentionFact> events;
  for (int64_t id = 1; id <= 4; ++id) events.push_back({.id = id, .since_unix_ns = kNow, .later = 12 - id});
  EXPECT_THAT(IdsOf(JudgeRetention(K::kEvents, {kNow, events}, policy).goes), ElementsAre(1, 2));
}

TEST(Retention, JudgesSamplesOnceAndInOrder) {
  const RetentionPolicy policy{.samples = 30 * kDay};
  const std::vector<RetentionFact> records{Fact(1, 40), Fact(2, 40, true), Fact(3, -5),
                                           Fact(4, 31), Fact(5, 3),        Fact(6, 50)};
  const RetentionVerdict verdict = JudgeRetention(K::kSamples, {kNow, records}, policy);
  EXPECT_THAT(IdsOf(verdict.goes), ElementsAre(1, 4)) << "3 is of a clock that is ahead: it does not hold up the rest";
  EXPECT_EQ(verdict.judged, 4u) << "6 was imported; its turn comes after that of 5";
  EXPECT_TRUE(verdict.is_over);
}

TEST(Retention, LetsAFileGoThatNobodyKnowsUsesOrIsAboutToUse) {
  const RetentionPolicy policy{.blobs = 7 * kDay};
  const BlobFile old{Sha256("a"), 10, kNow - 7 * kDayNs, false};
  EXPECT_TRUE(MayFileGo(old, false, policy, kNow));
  EXPECT_FALSE(MayFileGo(old, true, policy, kNow));
  EXPECT_FALSE(MayFileGo({old.digest, 10, old.last_used_unix_ns, true}, false, policy, kNow));
  EXPECT_FALSE(MayFileGo({old.digest, 10, old.last_used_unix_ns + 1, false}, false, policy, kNow));
}

// The files of a test, each last used when it says.
class FakeFiles : public BlobFiles {
 public:
  std::vector<BlobFile> ListFiles() override { return files; }
  bool DeleteUnused(const BlobFile& file) override {
    if (busy.contains(file.digest)) return false;
    return std::erase_if(files, [&](const BlobFile& other) { return other.digest == file.digest; }) == 1;
  }
  std::set<Digest> Digests() const {
    std::set<Digest> digests;
    for (const BlobFile& file : files) digests.insert(file.digest);
    return digests;
  }
  std::vector<BlobFile> files;
  std::set<Digest> busy;  // Used between listing and deletion.
};

class PruneTest : public testing::Test {
 protected:
  PruneReport PruneAll(PruneOptions options = {}) {
    const auto report = Prune(*store_, files_, options);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return *report;
  }
  static int64_t Of(const PruneReport& report, K kind) { return report.rows[static_cast<size_t>(kind)]; }
  std::vector<std::string> Problems() { return VerifyDatabase(path_)->problems; }
  size_t SamplesOf(int64_t record) { return store_->ListRecords({record - 1, 1})->front().timings->samples_ns.size(); }
  void EndJob(const Scene& scene) { ASSERT_TRUE(store_->SetJobState(scene.job_id, JobState::kDone, "").ok()); }

  FakeClock clock_{kNow};
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "tuning.db";
  std::unique_ptr<SqliteStore> store_ = *SqliteStore::Open(path_, clock_);
  FakeFiles files_;
};

TEST_F(PruneTest, KeepsEverythingThatIsYoungOrOfAnOpenJob) {
  Scene scene(*store_);
  scene.Measure(1, 100);
  const int64_t held = scene.Run(scene.Build(2)).id;
  EXPECT_EQ(PruneAll().total(), 0);
  clock_.Advance(365 * kDay);
  const PruneReport report = PruneAll();
  EXPECT_EQ(Of(report, K::kAttempts), 0) << "its job is open";
  EXPECT_EQ(Of(report, K::kLeases), 0) << "nobody ended it";
  EXPECT_EQ(Of(report, K::kBlobs), 1) << "of the trial that has ended";
  EXPECT_TRUE(IsReferenced(*store_, *store_->GetTrial(held)->module_digest));
  EXPECT_EQ(store_->CommitResult(scene.ResultOf(*store_->GetTrial(held), 50))->ack, Ack::kAccepted);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PruneTest, ForgetsWhatAJobThatEndedLongAgoLeftBehindAndNoRecord) {
  Scene scene(*store_);
  const int64_t worse = *scene.Measure(1, 100).record_id, best = *scene.Measure(2, 50).record_id;
  (void)scene.Measure(3, 0, TrialState::kCrash);
  ASSERT_TRUE(store_->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
  EndJob(scene);
  const std::vector<TuningRecord> before = *store_->ListRecords({});
  clock_.Advance(29 * kDay);
  PruneReport report = PruneAll();
  EXPECT_EQ(Of(report, K::kAttempts) + Of(report, K::kEvents) + Of(report, K::kSamples), 0);
  EXPECT_EQ(Of(report, K::kBlobs), 3);
  clock_.Advance(2 * kDay);
  const PruneReport planned = PruneAll({.is_dry_run = true});
  report = PruneAll({.rows_at_once = 2});
  EXPECT_EQ(Of(report, K::kAttempts), 6);
  EXPECT_EQ(Of(report, K::kSamples), 1);
  EXPECT_GT(Of(report, K::kEvents), 5);
  EXPECT_EQ(store_->ReadEvents(0, std::nullopt, 100)->size(), 1u) << "the last one says what time it was";
  EXPECT_EQ(planned.rows, report.rows) << "a dry run says what goes";
  EXPECT_EQ(PruneAll().total(), 0) << "once";
  EXPECT_EQ(SamplesOf(worse), 0u);
  EXPECT_GT(SamplesOf(best), 0u);
  std::vector<TuningRecord> after = *store_->ListRecords({});
  ASSERT_EQ(after.size(), before.size());
  after[0].timings->samples_ns = before[0].timings->samples_ns;
  EXPECT_EQ(after, before) << "nothing else of a record changes";
  EXPECT_EQ((*store_->QueryBest(std::vector{MakeKey()}))[0].record->id, best);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PruneTest, KeepsTheSamplesOfFinalists) {
  Scene scene(*store_);
  scene.Measure(1, 100);
  const TrialRow trial = *store_->GetTrial(1);
  const NewFinalist finalist{trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest};
  const std::vector<TrialRow> round = *store_->BeginFinalRound(scene.task_id, 1, std::vector{finalist});
  const int64_t record = *store_->CommitResult(scene.ResultOf(scene.Run(round[0].id), 120))->record_id;
  clock_.Advance(100 * kDay);
  PruneAll();
  EXPECT_GT(SamplesOf(record), 0u);
}

TEST_F(PruneTest, EndsALeaseOnlyWhereItsHolderDid) {
  Scene scene(*store_);
  scene.Lease();
  ASSERT_TRUE(store_->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
  const int64_t second = scene.Lease();
  clock_.Advance(8 * kDay);
  EXPECT_EQ(Of(PruneAll(), K::kLeases), 1);
  ASSERT_EQ(store_->ListGrantedLeases()->size(), 1u);
  EXPECT_EQ(store_->ListGrantedLeases()->front().epoch, second);
  EXPECT_EQ(store_->ListDevices()->front().epoch, second) << "epochs do not depend on leases that are forgotten";
}

TEST_F(PruneTest, StopsBetweenTwoSteps) {
  Scene scene(*store_);
  for (int n = 0; n < 5; ++n) scene.Measure(n, 100);
  EndJob(scene);
  clock_.Advance(100 * kDay);
  int steps = 3;
  PruneOptions options{.rows_at_once = 1};
  options.go_on = [&] { return --steps >= 0; };
  EXPECT_EQ(PruneAll(options).total(), 3);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PruneTest, DeletesFilesThatNobodyKnows) {
  Scene scene(*store_);
  const int64_t open = scene.Build(1);
  const Digest needed = *store_->GetTrial(open)->module_digest, lost = Sha256("uploaded, and never committed");
  const Digest busy = Sha256("uploaded again"), young = Sha256("being uploaded");
  clock_.Advance(10 * kDay);
  const int64_t now = clock_.UnixNanos();
  files_.files = {{needed, 100, kNow}, {lost, 10, kNow}, {busy, 20, kNow}, {young, 30, now - kSecond}};
  files_.busy = {busy};
  EXPECT_EQ(PruneAll({.is_dry_run = true}).file_bytes, 30);
  EXPECT_EQ(files_.files.size(), 4u);
  const PruneReport report = PruneAll();
  EXPECT_EQ(report.files, 1);
  EXPECT_EQ(report.file_bytes, 10);
  EXPECT_EQ(files_.Digests(), (std::set<Digest>{needed, busy, young}));
}

TEST_F(PruneTest, DeletesTheFileOfAForgottenRowAlsoWhenTheProcessDiedBetween) {
  Scene scene(*store_);
  (void)scene.Measure(1, 100);
  const Digest module = *store_->GetTrial(1)->module_digest;
  clock_.Advance(8 * kDay);
  files_.files = {{module, 100, kNow}};
  int steps = 5;  // Rows of each kind; then it dies.
  PruneOptions options;
  options.go_on = [&] { return --steps >= 0; };
  EXPECT_EQ(Of(PruneAll(options), K::kBlobs), 1);
  EXPECT_EQ(files_.files.size(), 1u);
  EXPECT_EQ(PruneAll().files, 1);
  EXPECT_THAT(files_.files, IsEmpty());
}

TEST_F(PruneTest, BuildsAFinalistAnewWhoseModuleIsForgotten) {
  Scene scene(*store_);
  (void)scene.Measure(1, 100);
  const TrialRow trial = *store_->GetTrial(1);
  clock_.Advance(8 * kDay);
  PruneAll();
  const NewFinalist finalist{trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest};
  EXPECT_EQ(store_->BeginFinalRound(scene.task_id, 1, std::vector{finalist})->front().state, TrialState::kBuildQueued);
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(PruneTest, DoesNotForgetABlobThatWasUsedSinceItWasListed) {
  Scene scene(*store_);
  (void)scene.Measure(1, 100, TrialState::kOk);
  clock_.Advance(8 * kDay);
  const RetentionFacts facts = *store_->ListRetentionFacts(K::kBlobs, std::nullopt, 10);
  ASSERT_EQ(facts.rows.size(), 1u);
  scene.Build(2, "module 1");  // The same machine code of another candidate.
  EXPECT_EQ(*store_->Forget(K::kBlobs, facts.rows, std::nullopt), 0);
  EXPECT_TRUE(IsReferenced(*store_, facts.rows[0].blob));
}

// Trials come, go and are forgotten in random order; what must hold holds at each step.
TEST_F(PruneTest, LosesNoRecordAndBreaksNoPromiseWhateverComesWhen) {
  const auto [first, count] = SeedsToTry(20);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("LATHE_SEED={}", seed));
    Random random(seed);
    store_ = *SqliteStore::OpenInMemory(clock_);
    Scene scene(*store_);
    scene.Lease(10'000 * kDayNs);
    int64_t records = 0;
    for (int n = 0; n < 60; ++n) {
      clock_.Advance(random.Below(6) * kDay);
      switch (random.Below(4)) {
        case 0:
          records += scene.Measure(n, 100.0 + static_cast<double>(random.Below(50))).record_id ? 1 : 0;
          break;
        case 1:
          records += scene.Measure(n, 0, TrialState::kCrash).record_id ? 1 : 0;
          break;
        case 2:
          (void)scene.Build(n);
          break;
        default:
          PruneAll({.rows_at_once = 1 + static_cast<int>(random.Below(5))});
      }
      EXPECT_EQ(store_->Stats()->records, records);
    }
    for (const TrialRow& trial : *store_->ListTrials({.states = {TrialState::kMeasureQueued}}, {}))
      EXPECT_TRUE(IsReferenced(*store_, *trial.module_digest)) << "trial " << trial.id;
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace lathe
