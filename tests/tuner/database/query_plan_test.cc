// No statement that runs once per trial, per heartbeat or per question of a client walks through a whole table.
#include <sqlite3.h>

#include <mutex>
#include <set>

#include "store_testing.h"
#include "support/sqlite.h"

namespace lathe {
namespace {

// Every statement that any connection of this process runs, as it was prepared.
class Statements {
 public:
  Statements() {
    Seen().clear();
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(Watch));
  }
  ~Statements() { sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(Watch)); }
  Statements(const Statements&) = delete;

  std::set<std::string> Take() {
    const std::lock_guard lock(Guard());
    return std::exchange(Seen(), {});
  }

 private:
  static std::set<std::string>& Seen() {
    static std::set<std::string> seen;
    return seen;
  }
  static std::mutex& Guard() {
    static std::mutex guard;
    return guard;
  }
  static int Watch(sqlite3* db, const char**, const sqlite3_api_routines*) {
    return sqlite3_trace_v2(
        db, SQLITE_TRACE_STMT,
        [](unsigned, void*, void* statement, void*) {
          const std::lock_guard lock(Guard());
          Seen().insert(sqlite3_sql(static_cast<sqlite3_stmt*>(statement)));
          return 0;
        },
        nullptr);
  }
};

bool IsQuery(const std::string& sql) {
  for (const char* verb : {"SELECT", "INSERT", "UPDATE", "DELETE"})
    if (sql.starts_with(verb)) return true;
  return false;
}

// The steps that walk through a table or a whole index of it, or, if `walks_by_id` says that no page of all rows is
// asked for, through all rows from an id on. A queue is read from its head, by an index of what waits; the one row of
// `meta` is no table to speak of.
std::vector<std::string> Scans(sqlite::Connection& db, const std::string& sql, bool walks_by_id) {
  std::vector<std::string> scans;
  const Status status = db.Each("EXPLAIN QUERY PLAN " + sql, [&](const sqlite::Row& row) {
    const std::string step = row.String(3);
    const bool is_allowed =
        step == "SCAN meta" || step == "SCAN CONSTANT ROW" || step.find("trial_to_build") != std::string::npos ||
        step.find("trial_to_measure") != std::string::npos || step.find("lease_granted") != std::string::npos;
    const bool is_walk = walks_by_id && step.find("(rowid>?)") != std::string::npos;
    if ((step.starts_with("SCAN") && !is_allowed) || is_walk) scans.push_back(step + " in " + sql);
  });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return scans;
}

class QueryPlanTest : public testing::Test {
 protected:
  void ExpectNoScan(bool walks_by_id) {
    const std::set<std::string> seen = statements_.Take();
    EXPECT_GT(seen.size(), 3u);
    auto db = *sqlite::Connection::Open(path_, sqlite::Connection::Mode::kReadOnly);
    for (const std::string& sql : seen) {
      if (!IsQuery(sql)) continue;
      EXPECT_THAT(Scans(*db, sql, walks_by_id), testing::IsEmpty());
    }
  }

  Statements statements_;
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "tuning.db";
};

TEST_F(QueryPlanTest, ATrialsLifeReadsRowsByTheirKeys) {
  auto store = *SqliteStore::Open(path_);
  Scene scene(*store);
  scene.Lease(1000 * kSecond);
  statements_.Take();
  scene.Measure(1, 100);
  scene.Measure(2, 0, TrialState::kCrash);
  (void)scene.Counts();
  (void)store->CountMeasured(MakeKey());
  (void)store->Heartbeat(scene.device_id);
  (void)store->RenewLease(scene.device_id, scene.epoch, std::chrono::seconds(2000));
  (void)scene.Run(scene.Build(3));
  EXPECT_TRUE(store->LoseDevice(scene.device_id).ok());
  scene.Lease(1000 * kSecond);
  EXPECT_TRUE(store->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
  EXPECT_TRUE(store->LoseWorker("worker-1").ok());
  ExpectNoScan(true);
}

TEST_F(QueryPlanTest, PruningReadsWhatItJudges) {
  FakeClock clock(kNow);
  auto store = *SqliteStore::Open(path_, clock);
  Scene scene(*store);
  scene.Measure(1, 100);
  scene.Measure(2, 50);
  EXPECT_TRUE(store->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
  EXPECT_TRUE(store->SetJobState(scene.job_id, JobState::kDone, "").ok());
  clock.Advance(std::chrono::hours(24 * 100));
  statements_.Take();
  for (const RetentionKind kind : kRetentionKinds) {
    const RetentionFacts facts = *store->ListRetentionFacts(kind, std::nullopt, 10);
    EXPECT_GT(*store->Forget(kind, facts.rows, 1), 0) << RetentionKindName(kind);
  }
  EXPECT_TRUE(store->FindBlobs(std::vector{Sha256("a")}).ok());
  ExpectNoScan(false);
}

TEST_F(QueryPlanTest, WhoSomebodyIsIsReadByKeys) {
  FakeClock clock(kNow);
  auto store = *SqliteStore::Open(path_, clock);
  statements_.Take();
  const auto serial = [](char c) { return *CertificateSerial::FromBytes(std::string(16, c)); };
  const NewCertificate certificate{serial('1'), {Role::kDevice, "rpi4-01"}, {kNow, 2 * kNow}};
  const std::chrono::hours day(24);
  EXPECT_TRUE(store->Invite({Sha256("code"), Role::kDevice, "rpi4-01", day}, "a test").ok());
  EXPECT_TRUE(store->TakeInvitation(Sha256("code"), certificate).ok());
  EXPECT_TRUE(store->RenewCertificate(serial('1'), {serial('2'), certificate.subject, certificate.validity}).ok());
  EXPECT_TRUE(store->FindCertificate(serial('1')).ok());
  EXPECT_EQ(store->RevokeCertificates(serial('1'), "a test")->size(), 2u);
  EXPECT_TRUE(store->CreateToken({Sha256("token"), "ada", Role::kViewer, day}, "a test").ok());
  EXPECT_TRUE(store->FindToken(Sha256("token")).ok());
  EXPECT_TRUE(store->RevokeToken(1, "a test").ok());
  EXPECT_TRUE(store->RecordRefusal("a test").ok());
  ExpectNoScan(true);
}

TEST_F(QueryPlanTest, ListsReadWhatTheyAnswer) {
  auto store = *SqliteStore::Open(path_);
  Scene scene(*store);
  scene.Measure(1, 100);
  statements_.Take();
  using S = TrialState;
  const std::vector<TrialFilter> filters{
      {.states = {S::kBuilding}},
      {.device_id = scene.device_id, .states = {S::kAssigned, S::kRunning}},
      {.job_id = scene.job_id},
      {.job_id = scene.job_id, .states = {S::kProposed, S::kBuildQueued, S::kMeasureQueued}},
      {.job_id = scene.job_id, .only_finals = true},
      {.task_id = scene.task_id}};
  for (const TrialFilter& filter : filters) EXPECT_TRUE(store->ListTrials(filter, {}).ok());
  ExpectNoScan(true);
  EXPECT_TRUE(WholeHistory(*store, MakeKey()).ok());
  EXPECT_TRUE(store->RecordsOf(MakeKey(), MakeTrial(1).trace_digest).ok());
  EXPECT_TRUE(store->MediansOf(std::vector<int64_t>{1}).ok());
  EXPECT_TRUE(store->MeasuredTraces(MakeKey()).ok());
  EXPECT_TRUE(store->QueryBest(std::vector{MakeKey()}).ok());
  EXPECT_TRUE(store->ListBest(MakeWorkload().digest).ok());
  EXPECT_TRUE(store->ListRecords({}).ok());
  EXPECT_TRUE(store->ReadEvents(0, scene.job_id, 10).ok());
  EXPECT_TRUE(store->ReadEvents(0, std::nullopt, 10).ok());
  EXPECT_TRUE(store->GetJob(scene.job_id).ok());
  EXPECT_TRUE(store->ListTasks(scene.job_id).ok());
  EXPECT_TRUE(store->ListJobs({}).ok());
  EXPECT_TRUE(store->ListInvitations({}).ok());
  EXPECT_TRUE(store->ListCertificates({}).ok());
  EXPECT_TRUE(store->ListTokens({}).ok());
  ExpectNoScan(false);
}

}  // namespace
}  // namespace lathe
