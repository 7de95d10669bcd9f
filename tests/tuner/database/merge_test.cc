#include "tuner/database/merge.h"

#include <sstream>

#include "store_testing.h"
#include "support/sqlite.h"
#include "tuner/database/migrations.h"
#include "tuner/database/records_json.h"
#include "tuner/database/upkeep.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Status TakeAll(const Workload&, const std::optional<Workload>&) { return OkStatus(); }

class MergeTest : public testing::Test {
 protected:
  MergeReport Merge(SqliteStore& into, SqliteStore& from, const WorkloadCheck& check = TakeAll) {
    const auto report = MergeDatabase(into, from, check);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return *report;
  }
  static double BestOf(SqliteStore& store, int workload = 0) {
    const BestAnswer answer = (*store.QueryBest(std::vector{MakeKey(workload)}))[0];
    return answer.record ? answer.record->timings->median_ns : 0;
  }
  static std::string Exported(SqliteStore& store) {
    std::ostringstream out;
    EXPECT_TRUE(ExportRecords(store, out).ok());
    return out.str();
  }

  FakeClock clock_{kNow};
  std::unique_ptr<SqliteStore> ours_ = *SqliteStore::OpenInMemory(clock_), theirs_ = *SqliteStore::OpenInMemory(clock_);
};

TEST_F(MergeTest, TakesInWhatIsNewAndKnowsTheRest) {
  Scene here(*ours_), there(*theirs_), other(*theirs_, 1, "request-2");
  here.Measure(1, 100);
  there.Measure(1, 90);
  there.Measure(2, 0, TrialState::kCrash);
  other.epoch = there.epoch;  // One device.
  other.Measure(3, 70);
  const std::vector<ForeignTrace> foreign{{MakeWorkload().digest, Sha256("[]"), "[]", "tvm", "llvm", 5.0}};
  ASSERT_TRUE(theirs_->ImportForeign(foreign).ok());
  MergeReport report = Merge(*ours_, *theirs_);
  EXPECT_EQ(report.workloads.read, 2);
  EXPECT_EQ(report.workloads.added, 1);
  EXPECT_EQ(report.records.added, 3);
  EXPECT_EQ(report.foreign.added, 1);
  EXPECT_THAT(report.refusals, IsEmpty());
  EXPECT_EQ(BestOf(*ours_), 90) << "decided anew";
  EXPECT_EQ(BestOf(*ours_, 1), 70);
  EXPECT_EQ(*ours_->CountMeasured(MakeKey()), 2) << "one trace was measured by both";
  const std::string once = Exported(*ours_);
  report = Merge(*ours_, *theirs_);
  EXPECT_EQ(report.records.known(), 3) << "twice is harmless";
  EXPECT_EQ(report.records.added + report.workloads.added + report.foreign.added, 0);
  EXPECT_EQ(Exported(*ours_), once);
}

TEST_F(MergeTest, DecidesByFinalsAsWhoMeasuredThem) {
  Scene here(*ours_), there(*theirs_);
  here.Measure(1, 50);
  there.Measure(2, 60);
  const TrialRow trial = *theirs_->GetTrial(1);
  const NewFinalist finalist{trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest};
  const auto round = theirs_->BeginFinalRound(there.task_id, 1, std::vector{finalist});
  ASSERT_TRUE(theirs_->CommitResult(there.ResultOf(there.Run((*round)[0].id), 65)).ok());
  ASSERT_TRUE(*theirs_->DecideFinals(there.task_id));
  Merge(*ours_, *theirs_);
  EXPECT_EQ(BestOf(*ours_), 65) << "a final stands above what was screened";
}

TEST_F(MergeTest, WithdrawsABestThatFailedInTheirFinals) {
  Scene here(*ours_), there(*theirs_);
  here.Measure(1, 50);
  here.Measure(2, 60);
  there.Measure(1, 51);
  const TrialRow trial = *theirs_->GetTrial(1);
  const NewFinalist finalist{trial.trace_digest, trial.trace_json, trial.seed, trial.module_digest};
  const auto round = theirs_->BeginFinalRound(there.task_id, 1, std::vector{finalist});
  ASSERT_TRUE(theirs_->CommitResult(there.ResultOf(there.Run((*round)[0].id), 0, TrialState::kWrongResult)).ok());
  Merge(*ours_, *theirs_);
  EXPECT_EQ(BestOf(*ours_), 60) << "the one of 50 ns computes something else";
}

TEST_F(MergeTest, RefusesWhatDoesNotFitAndTakesTheRest) {
  Scene here(*ours_), there(*theirs_), other(*theirs_, 1, "request-2");
  there.Measure(1, 90);
  other.epoch = there.epoch;  // One device.
  other.Measure(3, 70);
  const MergeReport report = Merge(*ours_, *theirs_, [](const Workload& theirs, const std::optional<Workload>& ours) {
    EXPECT_EQ(ours.has_value(), theirs.digest == MakeWorkload(0).digest);
    return ours ? Status(FailedPrecondition("other names")) : OkStatus();
  });
  EXPECT_EQ(report.workloads.refused, 1);
  EXPECT_EQ(report.records.refused, 1);
  EXPECT_EQ(report.records.added, 1);
  EXPECT_THAT(report.refusals,
              ElementsAre(HasSubstr("workload " + MakeWorkload(0).digest.ToHex().substr(0, 12) + ": other names"),
                          HasSubstr(": its workload was refused")));
  EXPECT_EQ(BestOf(*ours_), 0);
}

TEST_F(MergeTest, LetsNobodyInWhoBelongsToAnotherFarm) {
  Scene there(*theirs_);
  there.Measure(1, 90);
  const std::chrono::hours day(24);
  ASSERT_TRUE(theirs_->CreateToken({Sha256("token"), "ada", Role::kAdmin, day}, "a test").ok());
  ASSERT_TRUE(theirs_->Invite({Sha256("code"), Role::kDevice, "rpi4-01", day}, "a test").ok());
  EXPECT_EQ(Merge(*ours_, *theirs_).records.added, 1);
  EXPECT_THAT(*ours_->ListTokens({}), testing::IsEmpty());
  EXPECT_THAT(*ours_->ListInvitations({}), testing::IsEmpty());
}

// Files, because what is wrong is written into them by hand.
class MergeFilesTest : public MergeTest {
 protected:
  void Script(const std::string& sql) {
    const Status status = (*sqlite::Connection::Open(path_, sqlite::Connection::Mode::kReadWrite))->Execute(sql);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "theirs.db";
};

TEST_F(MergeFilesTest, RefusesDamagedRows) {
  {
    auto file = *SqliteStore::Open(path_, clock_);
    Scene scene(*file);
    for (int n = 1; n <= 3; ++n) scene.Measure(n, 100 + n);
  }
  Script("UPDATE trace SET json = '[1]' WHERE id = 1; UPDATE record SET median_ns = -5 WHERE id = 2");
  const auto theirs = *SqliteStore::OpenForMerge(path_);
  const MergeReport report = Merge(*ours_, *theirs);
  EXPECT_EQ(report.records.added, 1);
  EXPECT_THAT(report.refusals,
              ElementsAre(HasSubstr("its trace has another digest; that file is damaged"), HasSubstr("timings min")));
  EXPECT_EQ(BestOf(*ours_), 103);
}

TEST_F(MergeFilesTest, ReadsTheSchemaBeforeThisOne) {
  {
    auto file = *SqliteStore::Open(path_, clock_);
    Scene scene(*file);
    scene.Measure(1, 100);
  }
  Script(
      "ALTER TABLE device DROP COLUMN health; ALTER TABLE device DROP COLUMN health_words; ALTER TABLE device DROP "
      "COLUMN golden_ns; ALTER TABLE device DROP COLUMN golden_module; ALTER TABLE device DROP COLUMN failed_checks; "
      "ALTER TABLE device DROP COLUMN checked_unix_ns; ALTER TABLE device DROP COLUMN probe_unix_ns; "
      "DELETE FROM migration WHERE version > 11; PRAGMA user_version = 11");
  EXPECT_EQ(Merge(*ours_, **SqliteStore::OpenForMerge(path_)).records.added, 1);
  EXPECT_EQ(SqliteStore::OpenReadOnly(path_).code(), StatusCode::kFailedPrecondition) << "it is left as it is";
  Script("DELETE FROM migration WHERE version > 10; PRAGMA user_version = 10");
  EXPECT_THAT(SqliteStore::OpenForMerge(path_).status().message(),
              HasSubstr("schema version 10, this build needs 11; open it once for writing to upgrade it"));
  Script("PRAGMA user_version = 99");
  EXPECT_THAT(SqliteStore::OpenForMerge(path_).status().message(), HasSubstr("schema version 99"));
}

}  // namespace
}  // namespace lathe
