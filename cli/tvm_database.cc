#include "cli/tvm_database.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <istream>
#include <optional>
#include <unordered_map>

#include "compiler/import/tvm/graph_writer.h"
#include "compiler/import/tvm/tuning_records.h"
#include "compiler/import/tvm/workload_graph.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "compiler/target/target_description.h"
#include "support/file.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr double kNanosPerSecond = 1e9;

StatusOr<std::vector<std::string>> LinesOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  std::vector<std::string> lines;
  for (size_t begin = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
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

Status CheckRecordForm(const std::string& line) {
  const Status status = ReadTvmRecord(line).status();
  return status.code() == StatusCode::kUnimplemented ? OkStatus() : status;
}

Status CheckWorkloadForm(const std::string& line) { return ReadTvmWorkload(line).status(); }
Status SwappedError(const std::string& path) {
  return InvalidArgument(
      fmt::format("read {}: it holds records, no workloads; swap --tvm-workloads and --tvm-records", path));
}

// A schedule of one function asks for no name, TVM's of a module does.
Status CheckSpeaksOf(const ScheduleTrace& trace, const std::string& func) {
  for (size_t i = 0; i < trace.size(); ++i) {
    const Instruction& instruction = trace.instruction(i);
    const bool finds_a_block = instruction.kind->name == "GetBlock" && instruction.attrs.size() == 2;
    const auto* name = finds_a_block ? std::get_if<std::string>(&instruction.attrs[1]) : nullptr;
    if (name != nullptr && !name->empty() && *name != func)
      return InvalidArgument(fmt::format("its trace is of function \"{}\", its workload is \"{}\"", *name, func));
  }
  return OkStatus();
}

class Reader {
 public:
  Status ReadWorkloads(const std::string& path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(path));
    if (const Status status = CheckAny(lines, path, CheckWorkloadForm); !status.ok())
      return CheckAny(lines, path, CheckRecordForm).ok() ? SwappedError(path) : status;
    for (const std::string& line : lines) {
      StatusOr<PrimFunc> func = ReadFunction(line);
      functions_.push_back(std::nullopt);
      if (!func.ok()) {
        Skip(func.status(), path, functions_.size());
        ++database_.num_skipped_workloads;
        continue;
      }
      const Digest digest = WorkloadDigest(*func);
      AddWorkload(*func, digest);
      functions_.back().emplace(*std::move(func), digest);
    }
    return OkStatus();
  }

  Status ReadRecords(const std::string& path) {
    ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(path));
    RETURN_IF_ERROR(CheckAny(lines, path, CheckRecordForm));
    for (size_t i = 0; i < lines.size(); ++i) {
      const Status status = AddRecord(lines[i]);
      if (status.ok()) continue;
      Skip(status, path, i + 1);
      ++database_.num_skipped_records;
    }
    return OkStatus();
  }

  TvmDatabase Take() { return std::move(database_); }

 private:
  void Skip(const Status& status, const std::string& path, size_t line) {
    database_.skipped.push_back(status.WithContext(fmt::format("{}, line {}", path, line)).message());
  }
  // A file none of whose lines has the form is no file of TVM's: why the first has not.
  static Status CheckAny(const std::vector<std::string>& lines, const std::string& path,
                         Status (*check)(const std::string& line)) {
    Status first = OkStatus();
    for (const std::string& line : lines) {
      const Status status = check(line);
      if (status.ok()) return status;
      if (first.ok()) first = status.WithContext(fmt::format("{}, line 1", path));
    }
    return first;
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
    RETURN_IF_ERROR(CheckSpeaksOf(record.trace, func.name));
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

// ---- Writing -----------------------------------------------------------------------------------------------------

const TvmJson& FieldOf(const TvmMap& map, const std::string& name) {
  static const TvmJson* null = new TvmJson();
  const auto found = map.find(name);
  return found == map.end() ? *null : found->second;
}
std::string TextOf(const TvmMap& map, const std::string& name) {
  const std::string* text = FieldOf(map, name).As<std::string>();
  return text == nullptr ? "" : *text;
}

// {"keys":["cpu"],"kind":"llvm","mcpu":...,"tag":""}; null where it is no target string.
TvmJson TargetJson(const std::string& text) {
  const StatusOr<TargetDescription> target = TargetDescription::Parse(text);
  if (!target.ok()) return TvmJson();
  const auto list = [](const std::vector<std::string>& texts) { return TvmJson(TvmList(texts.begin(), texts.end())); };
  TvmMap map = {{"kind", target->kind}, {"tag", target->tag}, {"keys", list(target->keys)}};
  for (const auto& [name, value] : target->attrs) {
    TvmJson& json = map[name];
    if (const auto* several = std::get_if<std::vector<std::string>>(&value)) json = list(*several);
    if (const auto* one = std::get_if<std::string>(&value)) json = *one;
    if (const auto* number = std::get_if<int64_t>(&value)) json = TvmJson(*number);
    if (const auto* truth = std::get_if<bool>(&value)) json = TvmJson(*truth);
  }
  return TvmJson(std::move(map));
}

// ["TENSOR",dtype,shape] for each parameter; null where one is a number or has a symbolic extent.
TvmJson ArgumentsOf(const PrimFunc& func) {
  TvmList arguments;
  for (const Param& param : ParamsOf(func)) {
    const Buffer* buffer = std::get_if<Buffer>(&param);
    const auto shape = buffer == nullptr ? std::nullopt : ConstantShape((*buffer)->shape);
    if (!shape) return TvmJson();
    TvmList extents;
    for (const int64_t extent : *shape) extents.emplace_back(extent);
    arguments.push_back(TvmList{"TENSOR", (*buffer)->dtype.ToString(), TvmJson(std::move(extents))});
  }
  return TvmJson(std::move(arguments));
}

// TVM has no word for memory that is registers: "local" comes nearest, and names the blocks that copy there. Blocks are
// looked for in "main", as the graph calls the function.
void MakeTvms(TvmJson& instruction) {
  constexpr std::string_view kOurs = "register", kTvms = "local";
  TvmList& parts = std::get<TvmList>(instruction);
  TvmList& attrs = std::get<TvmList>(parts[2]);
  const bool finds_a_block = std::get<std::string>(parts[0]) == "GetBlock" && attrs.size() == 2;
  for (TvmJson& attr : attrs) {
    const std::string* text = attr.As<std::string>();
    if (text == nullptr || !text->ends_with(kOurs)) continue;
    const std::string before = text->substr(0, text->size() - kOurs.size());
    if (before.empty() || (finds_a_block && before.ends_with("_"))) attr = TvmJson(before + std::string(kTvms));
  }
  if (finds_a_block) attrs[1] = TvmJson("main");
}
StatusOr<ScheduleTrace> TraceForTvm(const std::string& text) {
  RETURN_IF_ERROR(ScheduleTrace::FromJson(text).status());  // Its form is known from here on.
  ASSIGN_OR_RETURN(TvmJson json, ParseTvmJson(text));
  for (TvmJson& instruction : std::get<TvmList>(std::get<TvmList>(json)[0])) MakeTvms(instruction);
  return ScheduleTrace::FromJson(ToPlainText(json));
}

// 0.27 cannot read what itself makes of texts that are not ASCII; their bytes it can.
std::string InRawText(const std::string& record) { return ToRawText(*ParseTvmJson(record)); }

class Writer {
 public:
  Status Add(const std::string& line) {
    ASSIGN_OR_RETURN(const TvmJson json, ParseTvmJson(line));
    const TvmMap* map = json.As<TvmMap>();
    if (map == nullptr) return InvalidArgument("a line of records is no object");
    const std::string kind = TextOf(*map, "kind");
    if (kind == "workload") return AddWorkload(*map);
    return kind == "record" ? AddRecord(*map) : OkStatus();
  }
  TvmDatabaseText Take() { return std::move(text_); }

 private:
  Status AddWorkload(const TvmMap& map) {
    const std::string digest = TextOf(map, "digest");
    ASSIGN_OR_RETURN(const PrimFunc func, ParsePrimFunc(TextOf(map, "text"), "workload"));
    const StatusOr<std::string> graph = WriteTvmModule(func);
    if (!graph.ok()) {
      text_.skipped.push_back(fmt::format("workload @{}: {}", func.name, graph.status().message()));
      return OkStatus();
    }
    // TVM 0.27 takes any number for its hash; this one tells workloads apart.
    const std::string hash = std::to_string(std::strtoull(digest.substr(0, 15).c_str(), nullptr, 16));
    text_.workloads += WriteTvmWorkload({hash, *graph}) + "\n";
    workloads_.emplace(digest, std::pair(text_.num_workloads++, ArgumentsOf(func)));
    return OkStatus();
  }

  Status AddRecord(const TvmMap& map) {
    const auto workload = workloads_.find(TextOf(map, "workload"));
    const TvmMap* timings = FieldOf(map, "timings_ns").As<TvmMap>();
    if (workload == workloads_.end() || timings == nullptr) return OkStatus();
    const TvmJson& median = FieldOf(*timings, "median");
    const int64_t* whole = median.As<int64_t>();
    const double* real = median.As<double>();
    if (whole == nullptr && real == nullptr) return OkStatus();
    TvmRecord record;
    record.workload = workload->second.first;
    ASSIGN_OR_RETURN(record.trace, TraceForTvm(TextOf(map, "trace")));
    const double nanos = whole != nullptr ? static_cast<double>(*whole) : *real;
    record.run_seconds = std::vector<double>{nanos / kNanosPerSecond};
    record.target = TargetJson(TextOf(map, "target"));
    record.arguments = workload->second.second;
    text_.records += InRawText(WriteTvmRecord(record, TvmRelease::k0_27)) + "\n";
    ++text_.num_records;
    return OkStatus();
  }

  TvmDatabaseText text_;
  std::unordered_map<std::string, std::pair<int64_t, TvmJson>> workloads_;  // By digest: line and arguments.
};

}  // namespace

StatusOr<TvmDatabaseText> WriteTvmDatabase(std::istream& lines) {
  Writer writer;
  std::string line;
  for (size_t number = 1; std::getline(lines, line); ++number) {
    if (const Status status = writer.Add(line); !status.ok())
      return status.WithContext(fmt::format("line {} of the records", number));
  }
  return writer.Take();
}

StatusOr<TvmDatabase> ReadTvmDatabase(const std::string& workloads_path, const std::string& records_path) {
  Reader reader;
  RETURN_IF_ERROR(reader.ReadWorkloads(workloads_path));
  RETURN_IF_ERROR(reader.ReadRecords(records_path));
  return reader.Take();
}

}  // namespace lathe
