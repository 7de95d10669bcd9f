// What an earlier release wrote is still read, and still means the same (tests/fixtures/README.md).
#include <filesystem>
#include <fstream>

#include "compiler/schedule/schedule.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "store_testing.h"
#include "tuner/database/records_json.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

const std::string kFixtures = LATHE_SOURCE_DIR "/tests/fixtures/fb8abfd/";

// The workload's digest is that of its text, and every trace of it replays.
void ExpectMeansTheSame(Store& store) {
  const std::vector<Workload> workloads = *store.ListWorkloads(std::nullopt, 10);
  ASSERT_EQ(workloads.size(), 1u);
  const StatusOr<PrimFunc> func = ParsePrimFunc(workloads[0].text, "stored");
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  EXPECT_EQ(WorkloadDigest(*func), workloads[0].digest);
  const std::vector<TuningRecord> records = *store.ListRecords(Page{.limit = 100});
  EXPECT_EQ(records.size(), 12u);
  for (const TuningRecord& record : records) {
    const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(record.trace_json);
    ASSERT_TRUE(trace.ok()) << trace.status().ToString();
    StatusOr<Schedule> schedule = Schedule::Create(*func);
    const Status replayed = trace->Replay(*schedule);
    EXPECT_TRUE(replayed.ok()) << replayed.ToString() << "\n" << record.trace_json;
  }
  EXPECT_EQ(store.ListBest(workloads[0].digest)->size(), 1u);
}

TEST(Fixtures, OpensTheDatabaseOfAnEarlierRelease) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(kFixtures + "tuned.db", folder / "tuned.db");
  const auto store = SqliteStore::Open(folder / "tuned.db");
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  ExpectMeansTheSame(**store);
}

TEST(Fixtures, ImportsTheRecordsOfAnEarlierRelease) {
  const TemporaryFolder folder;
  const auto store = SqliteStore::Open(folder / "new.db");
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  std::ifstream lines(kFixtures + "records.jsonl");
  const StatusOr<TransferCounts> counts = ImportRecords(**store, lines);
  ASSERT_TRUE(counts.ok()) << counts.status().ToString();
  EXPECT_EQ(counts->new_records, 12);
  ExpectMeansTheSame(**store);
}

}  // namespace
}  // namespace lathe
