// lathe db: records out of a database and into another, as JSON lines (docs/formats/records.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cli/database_path.h"
#include "cli/db_merge.h"
#include "cli/db_prune.h"
#include "cli/db_upkeep.h"
#include "cli/place.h"
#include "cli/report_error.h"
#include "cli/tvm_database.h"
#include "cli/verbs.h"
#include "support/clock.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/database/records_json.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/service/client.h"
#include "tuner/service/unix_socket.h"

namespace lathe {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

Status FileError(const std::string& what, const std::string& path) {
  return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kResourceExhausted,
                fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

// The file appears under its name only when it is whole.
StatusOr<TransferCounts> ExportToFile(Store& store, const std::string& name) {
  ASSIGN_OR_RETURN(const std::string path, OutputFile(name));
  const std::string part = path + ".part";
  std::ofstream out(part, std::ios::binary);
  if (!out) return FileError("write", path);
  ASSIGN_OR_RETURN(const TransferCounts counts, ExportRecords(store, out));
  out.close();
  if (!out || std::rename(part.c_str(), path.c_str()) != 0) {
    const Status status = FileError("write", path);
    std::remove(part.c_str());
    return status;
  }
  return counts;
}

StatusOr<TransferCounts> Export(const std::string& database, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(database, error))
    return NotFound(fmt::format("open {}: no database there yet; --db names another", database));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(database));
  if (path == "-") return ExportRecords(*store, std::cout);
  return ExportToFile(*store, path);
}

// Sends whole lines in pieces, the header before each.
class PieceSender {
 public:
  PieceSender(ScheduleApi& schedules, std::string header) : schedules_(schedules), header_(std::move(header)) {}
  Status Add(const std::string& line) {
    if (lines_ > 0 && piece_.size() + line.size() > kPieceBytes) RETURN_IF_ERROR(Send());
    piece_ += line + "\n";
    ++lines_;
    return OkStatus();
  }
  Status Send() {
    v1::ImportRecordsRequest request;
    request.set_lines(header_ + "\n" + piece_);
    const StatusOr<v1::ImportRecordsResponse> response = schedules_.ImportRecords(request);
    if (!response.ok())
      return response.status().WithContext(fmt::format("lines {} to {}", first_line_, first_line_ + lines_ - 1));
    counts_.workloads += response->workloads();
    counts_.records += response->records();
    counts_.new_records += response->new_records();
    first_line_ += lines_;
    lines_ = 0;
    piece_.clear();
    return OkStatus();
  }
  const TransferCounts& counts() const { return counts_; }

 private:
  ScheduleApi& schedules_;
  const std::string header_;
  std::string piece_;
  int64_t first_line_ = 2, lines_ = 0;
  TransferCounts counts_;
};

StatusOr<TransferCounts> ImportThrough(ScheduleApi& schedules, std::istream& in) {
  std::string line;
  std::getline(in, line);
  PieceSender sender(schedules, line);
  while (std::getline(in, line)) RETURN_IF_ERROR(sender.Add(line));
  RETURN_IF_ERROR(sender.Send());
  return sender.counts();
}

StatusOr<TransferCounts> ImportFrom(std::istream& in, const Place& place) {
  if (!place.server.empty()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ServerConnection> server, ConnectTo(place));
    return ImportThrough(server->schedules(), in);
  }
  const std::string database = DatabasePath(place.database);
  const StatusOr<Endpoint> owner = OwnerEndpoint(database);
  if (owner.ok() && SomebodyListens(owner->unix_path)) {
    return ImportThrough(ConnectToServer(*owner)->schedules(), in);
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(database).parent_path(), error);
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::Open(database));
  return ImportRecords(*store, in);
}

// Lines of JSON objects; TVM's are lists. Skips a mark of UTF-8.
Status CheckIsOurs(std::ifstream& in, const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return InvalidArgument(fmt::format("read {}: it is a folder; name a file", path));
  std::string begin(kByteOrderMark.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  in.clear();
  in.seekg(begin == kByteOrderMark ? static_cast<std::streamoff>(begin.size()) : 0);
  if (in.peek() != '[') return OkStatus();
  return InvalidArgument(
      fmt::format("read {}: it is a file of TVM's database; name both: --tvm-workloads database_workload.json "
                  "--tvm-records database_tuning_record.json",
                  path));
}

StatusOr<TransferCounts> Import(const std::string& path, const Place& place) {
  if (path == "-") return ImportFrom(std::cin, place);
  std::ifstream in(path, std::ios::binary);
  if (!in) return FileError("read", path);
  RETURN_IF_ERROR(CheckIsOurs(in, path));
  StatusOr<TransferCounts> counts = ImportFrom(in, place);
  if (!counts.ok()) return counts.status().WithContext("import " + path);
  return counts;
}

struct DbOptions {
  Place place;
  std::string out = "-", in;
  std::string tvm_workloads, tvm_records;  // Both or neither.
};

void ReportSkipped(const std::vector<std::string>& skipped) {
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(skipped.size(), kShown); ++i) fmt::print(stderr, "lathe: skipped {}\n", skipped[i]);
  if (skipped.size() > kShown) fmt::print(stderr, "lathe: and {} more\n", skipped.size() - kShown);
}

StatusOr<TransferCounts> ExportOfTvm(const DbOptions& options) {
  const std::string database = DatabasePath(options.place.database);
  std::error_code error;
  if (!std::filesystem::exists(database, error))
    return NotFound(fmt::format("open {}: no database there yet; --db names another", database));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(database));
  if (AbsolutePath(options.tvm_workloads) == AbsolutePath(options.tvm_records) ||
      std::filesystem::equivalent(options.tvm_workloads, options.tvm_records, error))
    return InvalidArgument(fmt::format("write {}: workloads and records in one file; name two", options.tvm_records));
  RETURN_IF_ERROR(OutputFile(options.tvm_records).status());  // Both are written, or neither.
  std::stringstream lines;
  RETURN_IF_ERROR(ExportRecords(*store, lines).status());
  ASSIGN_OR_RETURN(const TvmDatabaseText text, WriteTvmDatabase(lines));
  ReportSkipped(text.skipped);
  RETURN_IF_ERROR(WriteWholeFile(options.tvm_workloads, text.workloads));
  RETURN_IF_ERROR(WriteWholeFile(options.tvm_records, text.records));
  return TransferCounts{.workloads = text.num_workloads, .records = text.num_records};
}

int RunExport(const DbOptions& options) {
  if (!options.tvm_workloads.empty()) {
    const StatusOr<TransferCounts> counts = ExportOfTvm(options);
    if (!counts.ok()) return ReportError(counts.status());
    fmt::print(stderr, "lathe: {} workloads and {} records written for TVM\n", counts->workloads, counts->records);
    return kExitOk;
  }
  const StatusOr<TransferCounts> counts = Export(DatabasePath(options.place.database), options.out);
  if (!counts.ok()) return ReportError(counts.status());
  fmt::print(stderr, "lathe: {} workloads and {} records written\n", counts->workloads, counts->records);
  return kExitOk;
}

// `first` becomes the hash of a workload, if there is one.
StatusOr<TransferCounts> ImportOfTvm(const DbOptions& options, std::string& first) {
  ASSIGN_OR_RETURN(const TvmDatabase database, ReadTvmDatabase(options.tvm_workloads, options.tvm_records));
  ReportSkipped(database.skipped);
  if (!database.skipped.empty())
    fmt::print(stderr, "lathe: {} workloads and {} records skipped\n", database.num_skipped_workloads,
               database.num_skipped_records);
  std::stringstream lines;
  WriteForeign(database.workloads, database.traces, lines);
  if (!database.workloads.empty()) first = database.workloads[0].digest.ToHex();
  return ImportFrom(lines, options.place);
}

// Schedules of TVM's are tried first when the function that they are of is tuned.
void SayHowToTune(const std::string& workload, const Place& place) {
  const std::string where = !place.server.empty()     ? " --server " + place.server
                            : !place.database.empty() ? " --db " + place.database
                                                      : "";
  fmt::print(stderr, "next: lathe show {0}{1} > FUNC.py; lathe tune FUNC.py{1}\n", workload.substr(0, 12), where);
}

int RunImport(const DbOptions& options) {
  const bool is_tvm = !options.tvm_workloads.empty();
  if (is_tvm == !options.in.empty())
    return ReportError(InvalidArgument("db import: FILE or --tvm-workloads with --tvm-records required"));
  std::string first;
  const StatusOr<TransferCounts> counts = is_tvm ? ImportOfTvm(options, first) : Import(options.in, options.place);
  if (!counts.ok()) return ReportError(counts.status());
  fmt::print(stderr, "lathe: {} workloads and {} records read, {} of them new\n", counts->workloads, counts->records,
             counts->new_records);
  if (!first.empty()) SayHowToTune(first, options.place);
  return kExitOk;
}

}  // namespace

void AddDb(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DbOptions>();
  CLI::App* verb =
      app.add_subcommand("db", "Copy records out of a database and into another; check it, copy it, prune it");
  verb->require_subcommand(1);
  AddDbUpkeep(*verb, exit_code);
  AddDbPrune(*verb, exit_code);
  AddDbMerge(*verb, exit_code);
  AddDbPack(*verb, exit_code);
  CLI::App* out = verb->add_subcommand("export", "Write every workload and record as JSON lines");
  out->add_option("FILE", options->out, "where to; -: stdout")->capture_default_str();
  out->add_option("--db", options->place.database, "the database file");
  CLI::Option* their_workloads =
      out->add_option("--tvm-workloads", options->tvm_workloads, "TVM's database_workload.json, instead of FILE");
  CLI::Option* their_records =
      out->add_option("--tvm-records", options->tvm_records, "TVM's database_tuning_record.json, to go with it");
  their_workloads->needs(their_records);
  their_records->needs(their_workloads);
  out->callback([options, &exit_code] { exit_code = RunExport(*options); });
  CLI::App* in = verb->add_subcommand("import", "Merge what `db export` or TVM wrote; twice is harmless");
  in->add_option("FILE", options->in, "what to read; -: stdin");
  CLI::Option* workloads =
      in->add_option("--tvm-workloads", options->tvm_workloads, "TVM's database_workload.json, instead of FILE");
  CLI::Option* records =
      in->add_option("--tvm-records", options->tvm_records, "TVM's database_tuning_record.json, to go with it");
  workloads->needs(records);
  records->needs(workloads);
  AddPlaceFlags(*in, options->place);
  in->callback([options, &exit_code] { exit_code = RunImport(*options); });
}

}  // namespace lathe
