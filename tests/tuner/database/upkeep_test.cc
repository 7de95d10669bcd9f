#include "tuner/database/upkeep.h"

#include <fstream>

#include "fault_vfs.h"
#include "store_testing.h"
#include "support/sqlite.h"

namespace lathe {
namespace {

using sqlite::Connection;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class UpkeepTest : public testing::Test {
 protected:
  void Script(const std::string& sql) {
    const Status status = (*Connection::Open(path_, Connection::Mode::kReadWrite))->Execute(sql);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  std::vector<std::string> Problems() { return VerifyDatabase(path_)->problems; }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "tuning.db";
};

TEST_F(UpkeepTest, FindsNothingWrongBesideAnOwnerAtWork) {
  auto store = *SqliteStore::Open(path_);
  Scene scene(*store);
  scene.Measure(1, 100);
  scene.Measure(2, 0, TrialState::kCrash);
  (void)scene.Run(scene.Build(3));
  const auto report = VerifyDatabase(path_);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_EQ(report->records, 2);
  EXPECT_EQ(report->trials, 3);
  EXPECT_EQ(VerifyDatabase(folder_ / "none.db").code(), StatusCode::kNotFound);
}

struct DamageCase {
  const char* name;
  const char* sql;
  const char* words;
};
class DamageTest : public UpkeepTest, public testing::WithParamInterface<DamageCase> {};
TEST_P(DamageTest, IsNamed) {
  {
    auto store = *SqliteStore::Open(path_);
    Scene scene(*store);
    scene.Measure(1, 100);
    (void)scene.Run(scene.Build(2));
    (void)store->Invite({Sha256("code"), Role::kDevice, "rpi4-01", std::chrono::minutes(15)}, "a test");
    const int64_t now = SystemClock().UnixNanos();
    const CertificateSubject subject{Role::kDevice, "rpi4-01"};
    (void)store->TakeInvitation(Sha256("code"),
                                {*CertificateSerial::FromBytes("0123456789abcdef"), subject, {now, now}});
  }
  ASSERT_THAT(Problems(), IsEmpty());
  Script(GetParam().sql);
  EXPECT_THAT(Problems(), Contains(HasSubstr(GetParam().words)));
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, DamageTest,
    testing::Values(
        DamageCase{"Trace", "UPDATE trace SET json = '[]' WHERE id = 1",
                   "trace: number 1: its text has another digest"},
        DamageCase{"Reference", "UPDATE record SET trace_id = 99",
                   "reference: row 1 of record refers to nothing in trace"},
        DamageCase{"Best", "UPDATE best SET record_id = 77", "best: of key 1: record 77 is of another key or late"},
        DamageCase{"LateBest", "UPDATE record SET late = 1", "is of another key or late"},
        DamageCase{"Measured", "UPDATE tuning_key SET measured = 5",
                   "key: number 1: 5 measured traces are counted, it has 1"},
        DamageCase{"Counts", "UPDATE trial_count SET trials = trials + 1 WHERE state = 'OK'", "task: number 1: trials"},
        DamageCase{"References", "UPDATE blob SET refs = 7", ": 7 references are counted, it has "},
        DamageCase{"Attempt", "DELETE FROM attempt WHERE state = 'HELD'", "trial: number 2: RUNNING, but its attempt"},
        DamageCase{"Invitation", "UPDATE certificate SET name = 'other'",
                   "invitation: number 1: taken by device other, it was for device rpi4-01"},
        DamageCase{"Trial", "UPDATE trial SET state = 'MEAS_QUEUED' WHERE id = 2", "held, but its trial is not"}),
    [](const auto& info) { return info.param.name; });

TEST_F(UpkeepTest, NamesADamagedPage) {
  {
    auto store = *SqliteStore::Open(path_);
    Scene scene(*store);
    for (int n = 0; n < 200; ++n) scene.Measure(n, 100);
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40 * 4096);
  file << std::string(4096, '\x5a');
  file.close();
  EXPECT_THAT(Problems(), testing::Not(IsEmpty()));
}

TEST_F(UpkeepTest, CopiesADatabaseBesideItsOwner) {
  auto store = *SqliteStore::Open(path_);
  Scene scene(*store);
  scene.Measure(1, 100);
  const std::string copy = folder_ / "copy.db";
  const auto bytes = BackUpDatabase(path_, copy);
  ASSERT_TRUE(bytes.ok()) << bytes.status().ToString();
  EXPECT_EQ(*bytes, static_cast<int64_t>(std::filesystem::file_size(copy)));
  scene.Measure(2, 50);
  EXPECT_EQ((*(*SqliteStore::OpenReadOnly(copy))->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns,
            100);
  EXPECT_THAT(VerifyDatabase(copy)->problems, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(copy + ".part"));
  EXPECT_EQ(BackUpDatabase(path_, path_).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(BackUpDatabase(path_, copy).code(), StatusCode::kInvalidArgument) << "a copy is not written over";
  EXPECT_FALSE(BackUpDatabase(path_, folder_ / "none/copy.db").ok());
}

TEST_F(UpkeepTest, IsOpenedAfterAKillWithoutReadingAllOfIt) {
  constexpr int64_t kLater = 2 * kNow;
  {
    auto store = *SqliteStore::Open(path_);
    Scene scene(*store);
    std::vector<NewTrial> trials;
    for (int n = 0; n < 1500; ++n) {
      const std::string json = fmt::format("[{}, \"{}\"]", n, std::string(20'000, 't'));
      trials.push_back({Sha256(json), json, 0.5, 1});
    }
    ASSERT_TRUE(store->ProposeTrials(scene.task_id, trials, TrialState::kProposed).ok());
  }
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(path_));
  ASSERT_GT(bytes, 30'000'000);
  {
    FakeClock clock(kLater);
    auto store = *SqliteStore::Open(path_, clock);
    ASSERT_TRUE(store->Heartbeat(1).ok());
    for (const char* end : {"", "-wal"})  // As a kill leaves them.
      std::filesystem::copy_file(path_ + end, (folder_ / "killed.db") + end);
  }
  ASSERT_GT(std::filesystem::file_size(folder_ / "killed.db-wal"), 0u);
  FaultVfs vfs;
  auto store = SqliteStore::Open(folder_ / "killed.db");
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  EXPECT_LT(vfs.bytes_read(), bytes / 100);
  EXPECT_EQ((*store)->ListDevices()->front().last_seen_unix_ns, kLater) << "the WAL was taken up";
}

}  // namespace
}  // namespace lathe
