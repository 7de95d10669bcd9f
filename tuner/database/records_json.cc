#include "tuner/database/records_json.h"

#include <fmt/core.h>

#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>

#include "support/status_macros.h"

namespace lathe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "lathe.records/1";
constexpr int kPage = 500;
constexpr size_t kBatch = 500;
constexpr size_t kLongestLine = 64u << 20;

Json TimingsToJson(const Timings& t) {
  return {{"median", t.median_ns},
          {"min", t.min_ns},
          {"p90", t.p90_ns},
          {"mad", t.mad_ns},
          {"ci", {t.ci_low_ns, t.ci_high_ns}},
          {"runs", t.runs},
          {"samples", t.samples_ns}};
}

Json RecordToJson(const TuningRecord& r) {
  Json json = {{"kind", "record"},
               {"result_key", r.result_key.ToHex()},
               {"workload", r.key.workload.ToHex()},
               {"target", r.key.target},
               {"device_class", r.key.device_class},
               {"cache_regime", r.key.cache_regime},
               {"codegen", r.key.codegen_version.ToString()},
               {"policy", r.key.policy_version},
               {"status", TrialStateName(r.status)},
               {"trace_digest", r.trace_digest.ToHex()},
               {"trace", r.trace_json},
               {"attempt", r.attempt},
               {"device", r.device},
               {"epoch", r.epoch},
               {"seed", r.seed},
               {"committed_unix_ns", r.committed_unix_ns}};
  if (r.module_digest.has_value()) json["module"] = r.module_digest->ToHex();
  if (r.late) json["late"] = true;
  if (r.final_round > 0) json["final_round"] = r.final_round;
  if (r.timings.has_value()) json["timings_ns"] = TimingsToJson(*r.timings);
  if (r.timings.has_value() && r.timings->max_error) json["max_error"] = *r.timings->max_error;
  if (!r.environment.empty()) json["environment"] = r.environment;
  if (!r.error.empty()) json["error"] = r.error;
  return json;
}

Json ForeignToJson(const ForeignTrace& f) {
  Json json = {{"kind", "foreign"},  {"workload", f.workload.ToHex()},         {"source", f.source},
               {"target", f.target}, {"trace_digest", f.trace_digest.ToHex()}, {"trace", f.trace_json}};
  if (f.median_ns) json["median_ns"] = *f.median_ns;
  return json;
}

Json WorkloadToJson(const Workload& w) {
  return {{"kind", "workload"}, {"digest", w.digest.ToHex()}, {"name", w.name}, {"text", w.text}};
}

std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";  // A compiler's words may hold any bytes.
}

void WriteLine(const Json& json, std::ostream& out) { out << LineOf(json); }

// Reads the fields of one line; the first that is missing or of another type is the error, later ones are not looked
// at.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  std::string Text(const char* name) {
    return Find(name, "a string", [](const Json& v) { return v.is_string(); }, std::string());
  }
  int64_t Integer(const char* name) {
    return Find(name, "an integer", [](const Json& v) { return v.is_number_integer(); }, int64_t{0});
  }
  uint64_t Unsigned(const char* name) {
    return Find(name, "an integer of 0 or more", [](const Json& v) { return v.is_number_unsigned(); }, uint64_t{0});
  }
  double Number(const char* name) {
    return Find(name, "a number", [](const Json& v) { return v.is_number(); }, 0.0);
  }
  std::vector<double> Numbers(const char* name) {
    return Find(name, "a list of numbers", IsNumbers, std::vector<double>());
  }
  std::string MaybeText(const char* name) { return json_.contains(name) ? Text(name) : std::string(); }
  bool MaybeTrue(const char* name) {
    return json_.contains(name) && Find(name, "true or false", [](const Json& v) { return v.is_boolean(); }, false);
  }
  Digest Sha(const char* name) {
    const auto digest = Digest::FromHex(Text(name));
    if (!digest.ok()) Fail(fmt::format("field \"{}\": {}", name, digest.status().message()));
    return digest.ok() ? *digest : Digest();
  }
  void Fail(std::string words) {
    if (status_.ok()) status_ = InvalidArgument(std::move(words));
  }
  const Status& status() const { return status_; }

 private:
  static bool IsNumbers(const Json& value) {
    if (!value.is_array()) return false;
    for (const Json& item : value) {
      if (!item.is_number()) return false;
    }
    return true;
  }
  template <typename T, typename Fits>
  T Find(const char* name, const char* required, Fits fits, T otherwise) {
    const auto found = json_.find(name);
    if (found != json_.end() && fits(*found)) return found->template get<T>();
    Fail(fmt::format("field \"{}\": {} required", name, required));
    return otherwise;
  }

  const Json& json_;
  Status status_;
};

StatusOr<Timings> TimingsFromJson(const Json& json) {
  if (!json.is_object()) return InvalidArgument("field \"timings_ns\": an object required");
  Fields fields(json);
  Timings t;
  t.median_ns = fields.Number("median");
  t.min_ns = fields.Number("min");
  t.p90_ns = fields.Number("p90");
  t.mad_ns = fields.Number("mad");
  const std::vector<double> interval = fields.Numbers("ci");
  if (interval.size() == 2)
    t.ci_low_ns = interval[0], t.ci_high_ns = interval[1];
  else
    fields.Fail("field \"ci\": a list of two numbers required");
  t.runs = fields.Integer("runs");
  t.samples_ns = fields.Numbers("samples");
  RETURN_IF_ERROR(fields.status());
  return t;
}

StatusOr<TuningRecord> RecordFromJson(const Json& json) {
  Fields fields(json);
  TuningRecord r;
  r.result_key = fields.Sha("result_key");
  r.key = {fields.Sha("workload"),  fields.Text("target"), fields.Text("device_class"), fields.Text("cache_regime"), {},
           fields.Integer("policy")};
  const auto codegen = CodegenVersion::Parse(fields.Text("codegen"));
  if (codegen.ok())
    r.key.codegen_version = *codegen;
  else
    fields.Fail("field \"codegen\": " + codegen.status().message());
  const auto status = ParseTrialState(fields.Text("status"));
  if (status.has_value())
    r.status = *status;
  else
    fields.Fail("field \"status\": the name of a terminal trial state required");
  r.trace_digest = fields.Sha("trace_digest");
  r.trace_json = fields.Text("trace");
  r.attempt = fields.Integer("attempt");
  r.device = fields.Text("device");
  r.epoch = fields.Integer("epoch");
  r.seed = fields.Unsigned("seed");
  r.committed_unix_ns = fields.Integer("committed_unix_ns");
  if (json.contains("module")) r.module_digest = fields.Sha("module");
  r.late = fields.MaybeTrue("late");
  if (json.contains("final_round")) r.final_round = static_cast<int64_t>(fields.Unsigned("final_round"));
  r.environment = fields.MaybeText("environment");
  r.error = fields.MaybeText("error");
  RETURN_IF_ERROR(fields.status());
  if (json.contains("timings_ns")) {
    ASSIGN_OR_RETURN(r.timings, TimingsFromJson(json["timings_ns"]));
    if (json.contains("max_error")) r.timings->max_error = fields.Number("max_error");
    RETURN_IF_ERROR(fields.status());
  }
  return r;
}

StatusOr<ForeignTrace> ForeignFromJson(const Json& json) {
  Fields fields(json);
  ForeignTrace f{fields.Sha("workload"), fields.Sha("trace_digest"), fields.Text("trace"),
                 fields.Text("source"),  fields.Text("target"),      std::nullopt};
  if (json.contains("median_ns")) f.median_ns = fields.Number("median_ns");
  RETURN_IF_ERROR(fields.status());
  return f;
}

Status CheckTrace(const std::string& json, const Digest& digest, const std::string& whose) {
  if (Sha256(json) == digest) return OkStatus();
  return DataLoss(fmt::format("{}: its trace has another digest; it was changed after it was exported", whose));
}

StatusOr<RecordLine> LineFromJson(const Json& json) {
  const std::string kind = Fields(json).Text("kind");
  if (kind == "workload") {
    Fields fields(json);
    Workload workload{fields.Sha("digest"), fields.Text("name"), fields.Text("text")};
    RETURN_IF_ERROR(fields.status());
    return RecordLine(std::move(workload));
  }
  if (kind == "record") {
    ASSIGN_OR_RETURN(TuningRecord record, RecordFromJson(json));
    RETURN_IF_ERROR(
        CheckTrace(record.trace_json, record.trace_digest, "record " + record.result_key.ToHex().substr(0, 12)));
    return RecordLine(std::move(record));
  }
  if (kind == "foreign") {
    ASSIGN_OR_RETURN(ForeignTrace foreign, ForeignFromJson(json));
    RETURN_IF_ERROR(
        CheckTrace(foreign.trace_json, foreign.trace_digest, "schedule " + foreign.trace_digest.ToHex().substr(0, 12)));
    return RecordLine(std::move(foreign));
  }
  return InvalidArgument(
      fmt::format("kind \"{}\": \"workload\", \"record\" or \"foreign\" required", kind.substr(0, 40)));
}

class Importer {
 public:
  explicit Importer(Store& store) : store_(store) {}

  Status AddLine(const std::string& line) {
    if (!header_seen_) return AddHeader(line);
    ASSIGN_OR_RETURN(RecordLine read, ReadRecordLine(line));
    return std::visit([this](auto& row) { return Add(std::move(row)); }, read);
  }
  Status Flush() {
    if (!batch_.empty()) {
      ASSIGN_OR_RETURN(const int64_t added, store_.ImportRecords(batch_));
      counts_.new_records += added;
      batch_.clear();
    }
    if (!foreign_.empty()) {
      ASSIGN_OR_RETURN(const int64_t added, store_.ImportForeign(foreign_));
      counts_.new_records += added;
      foreign_.clear();
    }
    return OkStatus();
  }
  Status Finish() {
    if (!header_seen_)
      return InvalidArgument(fmt::format("the file is empty; a first line of format {} required", kFormat));
    return Flush();
  }
  const TransferCounts& counts() const { return counts_; }

 private:
  Status AddHeader(const std::string& line) {
    RETURN_IF_ERROR(CheckFormatLine(line, kFormat, "export again with this version"));
    header_seen_ = true;
    return OkStatus();
  }
  Status Add(Workload workload) {
    ++counts_.workloads;
    return store_.PutWorkload(workload).status();
  }
  Status Add(TuningRecord record) {
    ++counts_.records;
    batch_.push_back(std::move(record));
    return batch_.size() < kBatch ? OkStatus() : Flush();
  }
  Status Add(ForeignTrace foreign) {
    ++counts_.records;
    foreign_.push_back(std::move(foreign));
    return foreign_.size() < kBatch ? OkStatus() : Flush();
  }

  Store& store_;
  bool header_seen_ = false;
  std::vector<TuningRecord> batch_;
  std::vector<ForeignTrace> foreign_;
  TransferCounts counts_;
};

StatusOr<int64_t> ExportForeign(Store& store, const Digest& workload, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::vector<ForeignTrace> traces,
                   store.ListForeign(workload, std::numeric_limits<int>::max()));
  for (const ForeignTrace& foreign : traces) WriteLine(ForeignToJson(foreign), out);
  return static_cast<int64_t>(traces.size());
}

}  // namespace

StatusOr<RecordLine> ReadRecordLine(std::string_view line) {
  if (line.size() > kLongestLine)
    return InvalidArgument(fmt::format("{} bytes, at most {} allowed", line.size(), kLongestLine));
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  return LineFromJson(json);
}

std::string WorkloadLine(const Workload& workload) { return LineOf(WorkloadToJson(workload)); }
std::string RecordLineOf(const TuningRecord& record) { return LineOf(RecordToJson(record)); }

std::string FormatLine(std::string_view format) { return LineOf({{"kind", "header"}, {"format", format}}); }

Status CheckFormatLine(std::string_view line, std::string_view format, std::string_view next_step) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("not a JSON object");
  const std::string kind = Fields(json).Text("kind"), found = Fields(json).Text("format");
  if (kind == "header" && found == format) return OkStatus();
  return InvalidArgument(fmt::format("format \"{}\", {} required; {}", found.substr(0, 40), format, next_step));
}

void WriteForeign(std::span<const Workload> workloads, std::span<const ForeignTrace> traces, std::ostream& out) {
  out << FormatLine(kFormat);
  for (const Workload& workload : workloads) WriteLine(WorkloadToJson(workload), out);
  for (const ForeignTrace& foreign : traces) WriteLine(ForeignToJson(foreign), out);
}

StatusOr<TransferCounts> ExportRecords(Store& store, std::ostream& out) {
  TransferCounts counts;
  out << FormatLine(kFormat);
  for (std::optional<Digest> after;;) {
    ASSIGN_OR_RETURN(const std::vector<Workload> page, store.ListWorkloads(after, kPage));
    for (const Workload& w : page) {
      WriteLine(WorkloadToJson(w), out);
      ASSIGN_OR_RETURN(const int64_t foreign, ExportForeign(store, w.digest, out));
      counts.records += foreign;
      after = w.digest;
    }
    counts.workloads += static_cast<int64_t>(page.size());
    if (page.size() < kPage) break;
  }
  for (int64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<TuningRecord> page, store.ListRecords({after, kPage}));
    for (const TuningRecord& record : page) {
      WriteLine(RecordToJson(record), out);
      after = record.id;
    }
    counts.records += static_cast<int64_t>(page.size());
    if (page.size() < kPage) break;
  }
  out.flush();
  if (!out) return ResourceExhausted("export records: the output cannot be written; check the disk's space");
  return counts;
}

StatusOr<TransferCounts> ImportRecords(Store& store, std::istream& in) {
  Importer importer(store);
  std::string line;
  int64_t number = 0;
  while (std::getline(in, line)) {
    ++number;
    if (line.empty()) continue;
    const Status status = importer.AddLine(line);
    if (!status.ok()) return status.WithContext(fmt::format("import records, line {}", number));
  }
  const Status status = importer.Finish();
  if (!status.ok()) return status.WithContext("import records");
  return importer.counts();
}

}  // namespace lathe
