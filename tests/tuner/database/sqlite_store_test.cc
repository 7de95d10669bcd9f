// What only the file brings: owners, readers beside them, kill -9, full disks, damaged and foreign files, newer
// schemas.
#include "tuner/database/sqlite_store.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include "store_testing.h"
#include "support/random.h"
#include "support/sqlite.h"
#include "tuner/database/migrations.h"

namespace lathe {
namespace {

using sqlite::Connection;
using testing::HasSubstr;

class SqliteStoreTest : public testing::Test {
 protected:
  std::unique_ptr<SqliteStore> Open() { return *SqliteStore::Open(path_); }
  Status OpenError() { return SqliteStore::Open(path_).status(); }
  void Script(const std::string& sql) {
    auto db = *Connection::Open(path_, Connection::Mode::kReadWrite);
    const Status status = db->Execute(sql);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "tuning.db";
};

TEST_F(SqliteStoreTest, KeepsEverythingWhenReopened) {
  int64_t cursor = 0;
  {
    auto store = Open();
    Scene scene(*store);
    scene.Measure(1, 100);
    cursor = store->ReadEvents(0, std::nullopt, 100)->back().cursor;
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal")) << "a closed database is one file";
  auto store = Open();
  EXPECT_EQ((*store->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 100);
  EXPECT_EQ(store->ReadEvents(0, std::nullopt, 100)->back().cursor, cursor);
}

TEST_F(SqliteStoreTest, BelongsToOneOwnerAtATime) {
  auto store = Open();
  const Status second = OpenError();
  EXPECT_EQ(second.code(), StatusCode::kUnavailable);
  EXPECT_EQ(second.message(),
            fmt::format("open {}: process {} owns the file; use its server, or wait until it ends", path_, getpid()));
  std::filesystem::create_symlink(path_, folder_ / "link.db");
  EXPECT_EQ(SqliteStore::Open(folder_ / "link.db").code(), StatusCode::kUnavailable) << "another name of the same file";
  store.reset();
  EXPECT_TRUE(OpenError().ok());
}

TEST_F(SqliteStoreTest, IsReadBesideItsOwner) {
  auto owner = Open();
  Scene scene(*owner);
  scene.Measure(1, 100);
  auto reader = *SqliteStore::OpenReadOnly(path_);
  EXPECT_EQ((*reader->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 100);
  scene.Measure(2, 50);
  EXPECT_EQ((*reader->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 50) << "sees each commit";
  const Status write = reader->Heartbeat(1);
  EXPECT_EQ(write.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(write.message(), HasSubstr("opened read-only; use the process that owns the file"));
  EXPECT_EQ(SqliteStore::OpenReadOnly(folder_ / "none.db").code(), StatusCode::kNotFound);
}

TEST_F(SqliteStoreTest, IsReadFromAFolderThatCannotBeWritten) {
  {
    Scene(*Open()).Measure(1, 100);
  }
  std::filesystem::remove(path_ + ".lock");
  const pid_t child = fork();  // As a user without rights: root may write anywhere.
  if (child == 0) {
    if (chmod(path_.c_str(), 0444) != 0 || chmod(std::filesystem::path(path_).parent_path().c_str(), 0555) != 0)
      _exit(3);
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(4);
    auto reader = SqliteStore::OpenReadOnly(path_);
    if (!reader.ok()) fprintf(stderr, "%s\n", reader.status().ToString().c_str());
    _exit(reader.ok() && (*(*reader)->QueryBest(std::vector{MakeKey()}))[0].lookup == Lookup::kHit ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  chmod(std::filesystem::path(path_).parent_path().c_str(), 0755);
}

TEST_F(SqliteStoreTest, RefusesANewerSchemaAndLeavesItAlone) {
  Open().reset();
  Script("PRAGMA user_version = 13");
  const std::string expected =
      fmt::format("open {}: schema version 13, this build reads up to 12; upgrade or choose another file", path_);
  EXPECT_EQ(OpenError().message(), expected);
  EXPECT_EQ(OpenError().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(SqliteStore::OpenReadOnly(path_).status().message(), expected);
}

TEST_F(SqliteStoreTest, TakesOverWhatIsUnderWayInAnOlderFileAndPutsALateBestAside) {
  auto store = Open();
  Scene scene(*store);
  scene.Measure(1, 1000);
  const TrialRow former = scene.Run(scene.Build(2));
  ASSERT_TRUE(store->EndLease(scene.device_id, scene.epoch, LeaseState::kReleased).ok());
  const int64_t late = *store->CommitResult(scene.ResultOf(former, 10))->record_id;
  scene.Lease();
  const RunResult under_way = scene.ResultOf(scene.Run(former.id), 2000);
  store.reset();
  Script(fmt::format(
      "UPDATE best SET record_id = {}, median_ns = 10; DROP TABLE attempt; DROP TRIGGER trial_counted; DROP "
      "TRIGGER trial_moved; DROP TABLE trial_count; ALTER TABLE tuning_key DROP COLUMN measured; DROP INDEX "
      "record_in_order; DROP INDEX record_final; ALTER TABLE meta DROP COLUMN samples_judged_to; DROP TABLE "
      "asked; DROP TABLE invitation; DROP TABLE certificate; DROP TABLE token; ALTER TABLE job DROP COLUMN submitter; "
      "ALTER TABLE device DROP COLUMN service; ALTER TABLE device DROP COLUMN service_reason; ALTER TABLE device DROP "
      "COLUMN service_unix_ns; ALTER TABLE device DROP COLUMN health; ALTER TABLE device DROP COLUMN health_words; "
      "ALTER TABLE device DROP COLUMN golden_ns; ALTER TABLE device DROP COLUMN golden_module; ALTER TABLE device DROP "
      "COLUMN failed_checks; ALTER TABLE device DROP COLUMN checked_unix_ns; ALTER TABLE device DROP COLUMN "
      "probe_unix_ns; DELETE FROM migration WHERE version > 5; PRAGMA user_version = 5",
      late));
  store = Open();
  EXPECT_EQ(*store->CountMeasured(MakeKey()), 1) << "what is counted since step 7 is counted once then";
  EXPECT_EQ(store->CountTrials(scene.task_id)->trials_done, 1);
  EXPECT_EQ(store->CountTrials(scene.task_id)->trials_open, 1);
  EXPECT_EQ((*store->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 1000);
  EXPECT_EQ(store->CommitResult(under_way)->ack, Ack::kAccepted);
}

TEST_F(SqliteStoreTest, RefusesTheDatabaseOfAnotherProgram) {
  Script("CREATE TABLE bookmarks (url TEXT)");
  EXPECT_THAT(OpenError().message(), HasSubstr("not a Lathe database (application id 0x0, 0x4c415448 required)"));
}

TEST_F(SqliteStoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(path_) << std::string(10000, 'x');
  const Status status = OpenError();
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_THAT(status.message(), HasSubstr("file is not a database; restore a copy or choose another file"));
}

TEST_F(SqliteStoreTest, SaysThatAFolderIsMissing) {
  const Status status = SqliteStore::Open(folder_ / "none/tuning.db").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("No such file or directory; check the path"));
}

TEST_F(SqliteStoreTest, FindsDamageInsteadOfCrashing) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  {
    auto store = Open();
    Scene scene(*store);
    for (int n = 0; n < 40; ++n) scene.Measure(n, 100 + n);
  }
  std::ifstream in(path_, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  for (int round = 0; round < 60; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0)
      damaged.resize(random.Below(damaged.size()));
    else
      for (int i = 0; i < 200; ++i)
        damaged[100 + random.Below(damaged.size() - 100)] = static_cast<char>(random.Next());
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << damaged;
    auto store = SqliteStore::Open(path_);  // Any Status will do; a crash or a hang will not.
    if (!store.ok()) continue;
    (void)(*store)->QueryBest(std::vector{MakeKey()});
    (void)(*store)->ListRecords({});
    (void)(*store)->ListTrials({}, {});
    (void)(*store)->CancelJob(1, "");
  }
}

TEST_F(SqliteStoreTest, LosesNothingWhenTheDiskIsFull) {
  auto store = Open();
  Scene scene(*store);
  scene.Lease(1'000'000 * kSecond);
  int acknowledged = 0;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  Status failure;
  {
    const rlimit small{1'000'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    for (int n = 0; failure.ok() && n < 100'000; ++n) {
      failure =
          store
              ->ProposeTrials(scene.task_id,
                              std::vector{NewTrial{Sha256(fmt::format("{}", n)), std::string(20'000, 'x'), 1.0, 1}},
                              TrialState::kProposed)
              .status();
      if (failure.ok()) ++acknowledged;
    }
    setrlimit(RLIMIT_FSIZE, &before);
  }
  EXPECT_EQ(failure.code(), StatusCode::kResourceExhausted) << failure.ToString();
  EXPECT_THAT(failure.message(), HasSubstr("free some space"));
  EXPECT_THAT(failure.message(), HasSubstr("write " + path_));
  EXPECT_GT(acknowledged, 5);
  EXPECT_EQ(store->Stats()->trials, acknowledged);
  EXPECT_EQ(scene.Measure(1, 100).ack, Ack::kAccepted) << "space again: it goes on";
  store.reset();
  EXPECT_EQ(Open()->Stats()->trials, acknowledged + 1);
}

TEST_F(SqliteStoreTest, FailsOnlyTheOperationThatIsWrong) {
  auto store = Open();
  Scene scene(*store);
  std::atomic<bool> stop = false;
  std::atomic<int> wrong = 0;
  std::thread breaker([&] {
    while (!stop) wrong += store->Heartbeat(99).code() == StatusCode::kNotFound ? 0 : 1;
  });
  for (int n = 0; n < 50; ++n) scene.Measure(n, 100);
  stop = true;
  breaker.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store->Stats()->records, 50);
}

// The child commits and says each acknowledged record id; the parent kills it in the middle.
[[noreturn]] void CommitUntilKilled(const std::string& path, int round, int out) {
  auto store = SqliteStore::Open(path);
  if (!store.ok()) _exit(1);
  Scene scene(**store, 0, fmt::format("round {}", round));
  const std::vector<LeaseRow> leases = *(*store)->ListGrantedLeases();
  for (const LeaseRow& lease : leases) (void)(*store)->EndLease(lease.device_id, lease.epoch, LeaseState::kRevoked);
  for (int n = 0;; ++n) {
    const CommitAnswer answer = scene.Measure(round * 100'000 + n, 1000 - round);
    if (answer.ack != Ack::kAccepted || write(out, &*answer.record_id, sizeof(int64_t)) != sizeof(int64_t)) _exit(2);
  }
}

TEST_F(SqliteStoreTest, KeepsEveryAcknowledgedRecordOnceThroughKills) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  std::vector<int64_t> acknowledged;
  for (int round = 0; round < 8; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) CommitUntilKilled(path_, round, pipe_ends[1]);
    close(pipe_ends[1]);
    int64_t id = 0;
    for (uint64_t wanted = 1 + random.Below(40); wanted > 0 && read(pipe_ends[0], &id, sizeof id) == sizeof id;
         --wanted)
      acknowledged.push_back(id);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(random.Below(8000));
    while (std::chrono::steady_clock::now() < until) {
    }
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
    while (read(pipe_ends[0], &id, sizeof id) == sizeof id) acknowledged.push_back(id);
    close(pipe_ends[0]);

    if (round % 2 == 0) {  // Read beside nobody, right after the kill: nothing is repaired by an owner yet.
      EXPECT_EQ((*(*SqliteStore::OpenReadOnly(path_))->QueryBest(std::vector{MakeKey()}))[0].lookup, Lookup::kHit);
    }
    auto store = Open();
    std::map<int64_t, int> records_of_trial;
    std::set<int64_t> present;
    const std::vector<TuningRecord> records = *store->ListRecords({0, 1'000'000});
    for (const TuningRecord& record : records) {
      present.insert(record.id);
      EXPECT_EQ(++records_of_trial[*record.trial_id], 1);
    }
    for (const int64_t wanted : acknowledged)
      EXPECT_TRUE(present.contains(wanted)) << "record " << wanted << " was acknowledged";
    EXPECT_LE(present.size(), acknowledged.size() + static_cast<size_t>(round) + 1)
        << "at most one commit per kill is not yet acknowledged";
  }
  EXPECT_GT(acknowledged.size(), 8u);
}

// --- Migrations ---

constexpr Migration kThreeSteps[] = {
    {1,
     "CREATE TABLE migration (version INTEGER PRIMARY KEY, checksum BLOB, applied_unix_ns INTEGER);"
     "CREATE TABLE meta (store_id BLOB, created_unix_ns INTEGER); CREATE TABLE a (x INTEGER);"},
    {2, "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 5;"},
    {3, "CREATE TABLE b (z INTEGER);"}};

TEST(Migrations, AppliesOnlyWhatIsMissing) {
  auto db = *Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite);
  ASSERT_TRUE(Migrate(*db, std::span(kThreeSteps).first(1), std::string(16, 'i'), kNow).ok());
  ASSERT_TRUE(db->Execute("INSERT INTO a VALUES (1)").ok());
  ASSERT_TRUE(Migrate(*db, kThreeSteps, "", kNow + 1).ok());
  ASSERT_TRUE(Migrate(*db, kThreeSteps, "", kNow + 2).ok());
  EXPECT_EQ(**db->First<int64_t>("SELECT y FROM a"), 5);
  EXPECT_EQ(**db->First<int64_t>("SELECT max(applied_unix_ns) FROM migration"), kNow + 1);
}

TEST(Migrations, LeavesTheFileAtTheLastWholeStep) {
  auto db = *Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite);
  const Migration broken[] = {kThreeSteps[0],
                              {2, "ALTER TABLE a ADD COLUMN y INTEGER; CREATE TABLE a (again INTEGER);"}};
  EXPECT_THAT(Migrate(*db, broken, std::string(16, 'i'), kNow).message(), HasSubstr("table a already exists"));
  EXPECT_TRUE(Migrate(*db, kThreeSteps, "", kNow).ok()) << "the broken step left no trace";
}

TEST(Migrations, RefusesAStepThatWasAppliedWithOtherStatements) {
  auto db = *Connection::Open(Connection::kMemory, Connection::Mode::kReadWrite);
  ASSERT_TRUE(Migrate(*db, kThreeSteps, std::string(16, 'i'), kNow).ok());
  const Migration changed[] = {kThreeSteps[0], {2, "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 6;"}, kThreeSteps[2]};
  EXPECT_THAT(Migrate(*db, changed, "", kNow).message(), HasSubstr("schema step 2 was applied with other statements"));
}

TEST(Migrations, LetsRemarksChange) {
  EXPECT_EQ(MigrationChecksum("CREATE TABLE a (\n  x INTEGER  -- Old words.\n);"),
            MigrationChecksum("-- New.\nCREATE TABLE a ( x INTEGER );\n"));
  EXPECT_NE(MigrationChecksum("CREATE TABLE a (x INTEGER)"), MigrationChecksum("CREATE TABLE a (y INTEGER)"));
}

}  // namespace
}  // namespace lathe
