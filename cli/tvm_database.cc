#include "cli/tvm_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/import/tvm/tuning_records.h"
#include "compiler/import/tvm/workload_graph.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/canonical.h"
#include "compiler/script/printer.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr double kNanosPerSecond = 1e9;

StatusOr<std::vector<std::string>> LinesOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool IsSkipped(const Status& status) {
  return status.code() == StatusCode::kUnimplemented || status.code() == StatusCode::kFailedPrecondition;
}

// "main", or the only function.
StatusOr<PrimFunc> FunctionOf(const IRModule& module) {
  const std::vector<PrimFunc>& funcs = module.prim_funcs;
  const auto main = std::find_if(funcs.begin(), funcs.end(), [](const PrimFunc& func) { return func.name == "main"; });
  if (main != funcs.end()) return *main;
  if (funcs.size() == 1) return funcs[0];
  return Unimplemented(fmt::format("{} functions, none of them \"main\"", funcs.size()));
}

StatusOr<PrimFunc> ReadFunction(const std::string& line) {
  ASSIGN_OR_RETURN(const TvmWorkload workload, ReadTvmWorkload(line));
  ASSIGN_OR_RETURN(const IRModule module, ReadTvmModule(workload.graph));
  return FunctionOf(module);
}

std::optional<double> MedianNanos(const TvmRecord& record) {
  if (!record.run_seconds || record.run_seconds->empty()) return std::nullopt;
  std::vector<double> seconds = *record.run_seconds;
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2] * kNanosPerSecond;
  const bool is_time = median > 0 && median < 1e9 * kNanosPerSecond;  // TVM writes 1e10 seconds for what failed.
  return is_time ? std::optional(median) : std::nullopt;
}

class Reader {
 public:
  Status ReadWorkloads(const std::string& path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(path));
    for (const std::string& line : lines) {
      StatusOr<PrimFunc> func = ReadFunction(line);
      RETURN_IF_ERROR(Keep(func.status(), path, functions_.size() + 1));
      functions_.push_back(std::nullopt);
      if (!func.ok()) continue;
      const Digest digest = WorkloadDigest(*func);
      AddWorkload(*func, digest);
      functions_.back().emplace(*std::move(func), digest);
    }
    return OkStatus();
  }

  Status ReadRecords(const std::string& path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(path));
    for (size_t i = 0; i < lines.size(); ++i) RETURN_IF_ERROR(Keep(AddRecord(lines[i]), path, i + 1));
    return OkStatus();
  }

  TvmDatabase Take() { return std::move(database_); }

 private:
  // Notes what is skipped; what is no such file ends the reading.
  Status Keep(const Status& status, const std::string& path, size_t line) {
    if (status.ok()) return status;
    const Status named = status.WithContext(fmt::format("{}, line {}", path, line));
    if (!IsSkipped(status)) return named;
    database_.skipped.push_back(named.message());
    return OkStatus();
  }

  void AddWorkload(const PrimFunc& func, const Digest& digest) {
    const auto is_same = [&](const Workload& workload) { return workload.digest == digest; };
    if (std::any_of(database_.workloads.begin(), database_.workloads.end(), is_same)) return;
    database_.workloads.push_back({digest, func.name, Print(IRModule{{func}})});
  }

  Status AddRecord(const std::string& line) {
    ASSIGN_OR_RETURN(const TvmRecord record, ReadTvmRecord(line));
    if (record.workload >= static_cast<int64_t>(functions_.size()))
      return InvalidArgument(fmt::format("it is of workload {}; there are {}", record.workload, functions_.size()));
    const auto& function = functions_[static_cast<size_t>(record.workload)];
    if (!function) return Unimplemented(fmt::format("its workload {} was skipped", record.workload));
    const auto& [func, digest] = *function;
    ASSIGN_OR_RETURN(Schedule schedule, Schedule::Create(func));
    if (const Status status = record.trace.Replay(schedule); !status.ok())
      return Unimplemented("its trace does not replay here: " + status.message());
    const std::string json = schedule.trace().ToJson();
    database_.traces.push_back({digest, Sha256(json), json, "tvm", ToTvmText(record.target), MedianNanos(record)});
    return OkStatus();
  }

  TvmDatabase database_;
  std::vector<std::optional<std::pair<PrimFunc, Digest>>> functions_;  // By line; nullopt: skipped.
};

}  // namespace

StatusOr<TvmDatabase> ReadTvmDatabase(const std::string& workloads_path, const std::string& records_path) {
  Reader reader;
  RETURN_IF_ERROR(reader.ReadWorkloads(workloads_path));
  RETURN_IF_ERROR(reader.ReadRecords(records_path));
  return reader.Take();
}

}  // namespace lathe
