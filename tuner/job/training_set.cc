#include "tuner/job/training_set.h"

#include <algorithm>
#include <unordered_set>

#include "support/status_macros.h"
#include "tuner/job/job_search.h"
#include "tuner/search/population.h"

namespace lathe {
namespace {

constexpr int kWorkloadsAtOnce = 256;

// Adds what the record says, unless its trace does not replay.
void AddSample(MemberFactory& factory, const TuningRecord& record, uint64_t number, TaskSamples& to) {
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(record.trace_json);
  std::optional<Member> member = trace.ok() ? factory.Recall(*trace) : std::nullopt;
  if (!member) return;
  const MeasuredCandidate measured = ToMeasured(record);
  to.traces.push_back(record.trace_digest);
  to.samples.push_back({std::move(member->features), number, OutcomeOf(measured), measured.median_ns});
}

}  // namespace

StatusOr<std::vector<TuningKey>> ListKeys(Store& store) {
  std::vector<TuningKey> keys;
  std::optional<Digest> after;
  for (;;) {
    ASSIGN_OR_RETURN(const std::vector<Workload> page, store.ListWorkloads(after, kWorkloadsAtOnce));
    if (page.empty()) return keys;
    after = page.back().digest;
    for (const Workload& workload : page) {
      ASSIGN_OR_RETURN(const std::vector<TuningRecord> best, store.ListBest(workload.digest));
      for (const TuningRecord& record : best) keys.push_back(record.key);
    }
  }
}

StatusOr<TaskSamples> ReadSamples(Store& store, const TuningKey& key, uint64_t number) {
  ASSIGN_OR_RETURN(TuneTask task, LoadTuneTask(store, key));
  TaskSamples read{std::move(task), {}, {}};
  ASSIGN_OR_RETURN(std::vector<TuningRecord> history, WholeHistory(store, key));
  std::sort(history.begin(), history.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  MemberFactory factory(read.task);
  std::unordered_set<Digest, DigestHash> seen;
  for (const TuningRecord& record : history) {
    if (record.late || record.final_round > 0 || !seen.insert(record.trace_digest).second) continue;
    AddSample(factory, record, number, read);
  }
  return read;
}

}  // namespace lathe
