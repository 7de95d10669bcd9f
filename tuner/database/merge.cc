#include "tuner/database/merge.h"

#include <fmt/core.h>

#include <set>

#include "support/status_macros.h"
#include "tuner/database/sqlite_rows.h"

namespace lathe {
namespace {

constexpr int kRowsAtOnce = 100;  // Of rows, and of a transaction.

class Merger {
 public:
  Merger(Store& into, Store& from, const WorkloadCheck& check) : into_(into), from_(from), check_(check) {}

  StatusOr<MergeReport> Run() {
    RETURN_IF_ERROR(AddWorkloads());
    RETURN_IF_ERROR(AddRecords());
    return std::move(report_);
  }

 private:
  Status AddWorkloads() {
    for (std::optional<Digest> after;;) {
      ASSIGN_OR_RETURN(const std::vector<Workload> page, from_.ListWorkloads(after, kRowsAtOnce));
      for (const Workload& workload : page) RETURN_IF_ERROR(AddWorkload(workload));
      if (page.size() < kRowsAtOnce) return OkStatus();
      after = page.back().digest;
    }
  }

  Status AddWorkload(const Workload& theirs) {
    ++report_.workloads.read;
    const StatusOr<Workload> ours = into_.GetWorkload(theirs.digest);
    if (!ours.ok() && ours.code() != StatusCode::kNotFound) return ours.status();
    const Status fits = check_(theirs, ours.ok() ? std::optional(*ours) : std::nullopt);
    if (!fits.ok()) {
      refused_.insert(theirs.digest);
      Refuse(report_.workloads, fmt::format("workload {}", theirs.digest.ToHex().substr(0, 12)), fits);
      return OkStatus();
    }
    if (!ours.ok()) {
      RETURN_IF_ERROR(into_.PutWorkload(theirs).status());
      ++report_.workloads.added;
    }
    return AddForeign(theirs.digest);
  }

  Status AddForeign(const Digest& workload) {
    ASSIGN_OR_RETURN(std::vector<ForeignTrace> traces, from_.ListForeign(workload, std::numeric_limits<int>::max()));
    report_.foreign.read += static_cast<int64_t>(traces.size());
    std::erase_if(traces, [&](const ForeignTrace& foreign) {
      const Status status = CheckDigest(foreign.trace_json, foreign.trace_digest);
      if (!status.ok()) Refuse(report_.foreign, NameOf("schedule", foreign.trace_digest), status);
      return !status.ok();
    });
    for (size_t first = 0; first < traces.size(); first += kRowsAtOnce) {
      const auto batch = std::span(traces).subspan(first, std::min<size_t>(kRowsAtOnce, traces.size() - first));
      ASSIGN_OR_RETURN(const int64_t added, into_.ImportForeign(batch));
      report_.foreign.added += added;
    }
    return OkStatus();
  }

  Status AddRecords() {
    for (Page page{.limit = kRowsAtOnce};;) {
      ASSIGN_OR_RETURN(std::vector<TuningRecord> records, from_.ListRecords(page));
      const bool is_last = records.size() < kRowsAtOnce;
      if (!is_last) page.after_id = records.back().id;
      report_.records.read += static_cast<int64_t>(records.size());
      std::erase_if(records, [&](const TuningRecord& record) {
        const Status status = CheckRecord(record);
        if (!status.ok()) Refuse(report_.records, NameOf("record", record.result_key), status);
        return !status.ok();
      });
      ASSIGN_OR_RETURN(const int64_t added, into_.ImportRecords(records));
      report_.records.added += added;
      if (is_last) return OkStatus();
    }
  }

  Status CheckRecord(const TuningRecord& record) const {
    if (refused_.contains(record.key.workload)) return FailedPrecondition("its workload was refused");
    RETURN_IF_ERROR(CheckDigest(record.trace_json, record.trace_digest));
    return CheckImported(record);
  }
  static Status CheckDigest(const std::string& trace, const Digest& digest) {
    return Sha256(trace) == digest ? OkStatus() : DataLoss("its trace has another digest; that file is damaged");
  }
  static std::string NameOf(std::string_view what, const Digest& digest) {
    return fmt::format("{} {}", what, digest.ToHex().substr(0, 12));
  }
  void Refuse(MergeCounts& counts, const std::string& what, const Status& why) {
    ++counts.refused;
    if (report_.refusals.size() < kMostRefusalsSaid)
      report_.refusals.push_back(fmt::format("{}: {}", what, why.message()));
  }

  Store& into_;
  Store& from_;
  const WorkloadCheck& check_;
  std::set<Digest> refused_;  // Workloads.
  MergeReport report_;
};

}  // namespace

StatusOr<MergeReport> MergeDatabase(Store& into, Store& from, const WorkloadCheck& check) {
  return Merger(into, from, check).Run();
}

}  // namespace lathe
