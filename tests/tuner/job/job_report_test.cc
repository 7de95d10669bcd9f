#include "tuner/job/job_report.h"

#include <gmock/gmock.h>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "faulty_store.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/job_search.h"

namespace lathe {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000'000;
constexpr char kCopy[] = R"(
@T.prim_func
def copy(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi]
)";

TuningRecord RecordOf(const TuningKey& key, const MeasureCandidate& candidate, int number, TrialState status,
                      double median_ns) {
  TuningRecord record{.result_key = Sha256(std::to_string(number)),
                      .key = key,
                      .trace_digest = candidate.trace_digest,
                      .trace_json = candidate.trace_json,
                      .status = status,
                      .environment = "{}"};
  record.timings = Timings{median_ns, median_ns, median_ns, 0, median_ns, median_ns, 1, {median_ns}, std::nullopt};
  return record;
}

// A job's page is asked for four times a second; what the database knows of its tasks may be long.
TEST(JobReport, ReadsTheRecordsOfTheUntunedScheduleOnly) {
  int histories = 0;
  FaultyStore store(*SqliteStore::OpenInMemory(), [&](std::string_view verb) {
    histories += verb == "History" || verb == "ListRecords" ? 1 : 0;
    return OkStatus();
  });
  const PrimFunc func = *ParsePrimFunc(kCopy, "copy.py");
  const TuningKey key{WorkloadDigest(func), "llvm -mcpu=znver4 -num-cores=1", "local", "hot", {19, 1}, 1};
  ASSERT_TRUE(store.PutWorkload({key.workload, "copy", kCopy}).ok());
  const int64_t job = store.CreateJob({"r", "net", "{}", {{key, "copy", 1, 64}}})->job.id;
  const StatusOr<TuneTask> task = LoadTuneTask(store, key);
  ASSERT_TRUE(task.ok()) << task.status().message();
  const MeasureCandidate untuned = *UntunedCandidate(*task);
  const std::vector<TuningRecord> records{RecordOf(key, untuned, 1, TrialState::kNoisy, 50),
                                          RecordOf(key, untuned, 2, TrialState::kOk, 90),
                                          RecordOf(key, untuned, 3, TrialState::kOk, 80)};
  ASSERT_EQ(*store.ImportRecords(records), 3);
  const StatusOr<JobReport> report = MakeJobReport(store, job);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->tasks[0].untuned_ns, 80) << "the best that was not noisy";
  EXPECT_EQ(report->tasks[0].best_ns, 80);
  EXPECT_EQ(histories, 0);
}

}  // namespace
}  // namespace lathe
