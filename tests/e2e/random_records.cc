#include "tests/e2e/random_records.h"

#include <fmt/core.h>

#include "compiler/builder/builder_process.h"
#include "compiler/relax/extract_tasks.h"
#include "compiler/script/printer.h"
#include "support/status_macros.h"
#include "tests/support/hang_guard.h"
#include "tests/support/temporary_folder.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/job_spec.h"
#include "tuner/search/search_strategy.h"

namespace lathe {
namespace {

constexpr int kMaxRefused = 20;  // Candidates of a task that may fail to build in a row.

Timings SomeTimings(double ns) {
  return {.median_ns = ns, .min_ns = ns, .p90_ns = ns, .ci_low_ns = ns, .ci_high_ns = ns, .runs = 1};
}

class RecordWriter {
 public:
  RecordWriter(SqliteStore& store, const Target& target) : store_(store), target_(target) {}

  Status Write(const relax::ExtractedTask& extracted, uint64_t seed, int count) {
    PrimFunc func = extracted.func;
    func.name = extracted.name;
    TuneTask task{extracted.workload, func, target_, {}, extracted.flops};
    ASSIGN_OR_RETURN(task.sketches, MakePostOrderApply()->Generate(func, target_));
    const std::string text = Print(IRModule{{func}});
    RETURN_IF_ERROR(store_.PutWorkload({extracted.workload, func.name, text}).status());
    const std::unique_ptr<SearchStrategy> search = MakeRandomSearch(task, seed);
    std::vector<TuningRecord> records;
    for (int refused = 0; static_cast<int>(records.size()) < count && refused < kMaxRefused;) {
      const std::vector<MeasureCandidate> candidates = search->Propose(1);
      if (candidates.empty()) break;  // A space of few candidates, or of one.
      last_error_ = WhyNotBuilt(text, candidates[0]);
      if (last_error_.empty())
        records.push_back(RecordOf(extracted.workload, candidates[0], records.size()));
      else
        ++refused;
    }
    if (records.empty())
      return FailedPrecondition(fmt::format("random records of {}: no candidate builds; {}", func.name, last_error_));
    return store_.ImportRecords(records).status();
  }

 private:
  std::string WhyNotBuilt(const std::string& text, const MeasureCandidate& candidate) {
    const TemporaryFolder folder;
    const BuildSpec spec{.kernels = {{"kernel", text, candidate.trace_json}},
                         .target = target_.ToString(),
                         .output_path = folder / "kernel.so",
                         .refuses_spills = true};
    const BuildResult result = builder_.BuildAndWait(spec, kHangGuard);
    const BuildError* error = std::get_if<BuildError>(&result.outcome);
    return error == nullptr ? "" : error->message;
  }
  TuningRecord RecordOf(const Digest& workload, const MeasureCandidate& candidate, size_t number) const {
    return {.result_key = Sha256(workload.ToHex() + candidate.trace_json),
            .key = KeyFor(workload, target_.ToString(), "local"),
            .trace_digest = candidate.trace_digest,
            .trace_json = candidate.trace_json,
            .timings = SomeTimings(1000.0 + static_cast<double>(number)),
            .seed = candidate.seed};
  }

  SqliteStore& store_;
  const Target& target_;
  BuilderProcess builder_{{.program = std::string(LATHE_BIN_DIR) + "/lathe-builder"}};
  std::string last_error_;
};

}  // namespace

Status WriteRandomRecords(const relax::IRModule& network, const Target& target, uint64_t seed, int per_task,
                          const std::string& database) {
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::Open(database));
  ASSIGN_OR_RETURN(const std::vector<relax::ExtractedTask> tasks, relax::ExtractTasks(network));
  RecordWriter writer(*store, target);
  for (size_t i = 0; i < tasks.size(); ++i) RETURN_IF_ERROR(writer.Write(tasks[i], Random::Mix(seed + i), per_task));
  return OkStatus();
}

}  // namespace lathe
