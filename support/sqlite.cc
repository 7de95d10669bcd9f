#include "support/sqlite.h"

#include <fmt/core.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "support/file.h"

namespace lathe::sqlite {
namespace {

// How long a statement waits for another process that holds a lock for a moment (recovery after a crash).
constexpr int kBusyTimeoutMillis = 5000;

struct Meaning {
  StatusCode code;
  const char* next_step;
};

Meaning MeaningOf(int code, int system_error) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {StatusCode::kResourceExhausted, "free some space and repeat"};
    case SQLITE_IOERR:
      // A full disk is SQLITE_FULL; a quota or a size limit shows as a failed write, and a failed COMMIT has lost its
      // errno.
      if (code == SQLITE_IOERR_WRITE || MeansFullDisk(system_error) || system_error == EFBIG) {
        return {StatusCode::kResourceExhausted, "free some space or raise the quota and repeat"};
      }
      return {StatusCode::kUnavailable, "check the disk and repeat"};
    case SQLITE_READONLY:
      return {StatusCode::kFailedPrecondition, "make the file and its folder writable or choose another file"};
    case SQLITE_CORRUPT:
      return {StatusCode::kDataLoss, "restore a copy or choose another file"};
    case SQLITE_NOTADB:
      return {StatusCode::kDataLoss, "restore a copy or choose another file"};
    case SQLITE_CANTOPEN:
      if (system_error == ENOENT) return {StatusCode::kNotFound, "check the path"};
      return {StatusCode::kFailedPrecondition, "check the path and its permissions"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {StatusCode::kPermissionDenied, "check the permissions"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {StatusCode::kUnavailable, "another process holds the file; repeat"};
    case SQLITE_NOMEM:
      return {StatusCode::kResourceExhausted, "free some memory and repeat"};
    case SQLITE_TOOBIG:
      return {StatusCode::kInvalidArgument, "make the value smaller"};
    case SQLITE_CONSTRAINT:
      return {StatusCode::kInvalidArgument, "check the values"};
    case SQLITE_INTERRUPT:
      return {StatusCode::kCancelled, "repeat"};
    default:
      return {StatusCode::kInternal, "report this"};
  }
}

std::string UriOf(const std::string& path, std::string_view query) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '?' || c == '#' || c == '%')
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri.append(query);
}

}  // namespace

Connection::Connection(sqlite3* db, std::string path) : db_(db), path_(std::move(path)) {}

Connection::~Connection() {
  cache_.clear();
  sqlite3_close_v2(db_);
}

StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& path, Mode mode) {
  if (path.empty()) return InvalidArgument("open database: the path is empty; name a file");
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return InvalidArgument(fmt::format("open {}: it is a folder; name a file", path));
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (mode == Mode::kReadWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  const bool immutable = mode == Mode::kImmutable;
  const std::string name = immutable ? UriOf(path, "?immutable=1") : path;
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &raw, flags | (immutable ? SQLITE_OPEN_URI : 0), nullptr);
  if (raw == nullptr) return ResourceExhausted(fmt::format("open {}: out of memory", path));
  std::unique_ptr<Connection> db(new Connection(raw, path));
  if (code != SQLITE_OK) return db->Error("open", code);
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMillis);
  return db;
}

Status Connection::Error(std::string_view operation, int code) const {
  const int system_error = sqlite3_system_errno(db_);
  const Meaning meaning = MeaningOf(code, system_error);
  const int primary = code & 0xff;
  const bool os_matters =
      system_error != 0 && (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL);
  const std::string os_words = os_matters ? fmt::format(" ({})", std::strerror(system_error)) : "";
  const std::string_view done = primary == SQLITE_NOTADB ? "open" : operation;  // Whatever met it first.
  return Status(meaning.code,
                fmt::format("{} {}: {}{}; {}", done, path_, sqlite3_errmsg(db_), os_words, meaning.next_step));
}

Status Connection::Execute(const std::string& script) {
  const int code = sqlite3_exec(db_, script.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : Error("write", code);
}

Status Connection::CopyTo(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Connection> copy, Open(path, Mode::kReadWrite));
  sqlite3_backup* backup = sqlite3_backup_init(copy->db_, "main", db_, "main");
  if (backup == nullptr) return copy->Error("copy to", sqlite3_errcode(copy->db_));
  sqlite3_backup_step(backup, -1);  // All at once, under one snapshot; what went wrong the end says.
  const int code = sqlite3_backup_finish(backup);
  return code == SQLITE_OK ? OkStatus() : copy->Error("copy to", code);
}

StatusOr<Connection::LogSync> Connection::LogSyncer() {
  sqlite3_file* log = nullptr;
  const int code = sqlite3_file_control(db_, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (code != SQLITE_OK) return Error("find the log of", code);
  if (log == nullptr || log->pMethods == nullptr) return LogSync();
  return LogSync([log, path = path_] {
    const int result = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
    if (result == SQLITE_OK) return OkStatus();
    return Status(
        Unavailable(fmt::format("sync the log of {}: {}; check the disk and repeat", path, sqlite3_errstr(result))));
  });
}

StatusOr<Statement*> Connection::Cached(std::string_view sql) {
  auto found = cache_.find(sql);
  if (found == cache_.end()) {
    ASSIGN_OR_RETURN(std::unique_ptr<Statement> statement, Statement::Prepare(*this, sql));
    found = cache_.emplace(std::string(sql), std::move(statement)).first;
  }
  return found->second.get();
}

StatusOr<std::string> Connection::Image() {
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(sqlite3_serialize(db_, "main", &size, 0), sqlite3_free);
  if (bytes == nullptr) return ResourceExhausted(fmt::format("copy {}: no memory for {} bytes", path_, size));
  return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<size_t>(size));
}

Status Connection::Restore(std::string_view image) {
  auto* bytes = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (bytes == nullptr)
    return ResourceExhausted(fmt::format("restore {}: no memory for {} bytes", path_, image.size()));
  std::memcpy(bytes, image.data(), image.size());
  const auto size = static_cast<sqlite3_int64>(image.size());
  const int code = sqlite3_deserialize(db_, "main", bytes, size, size,
                                       SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (code == SQLITE_OK) return OkStatus();
  return InternalError(fmt::format("restore {}: {}", path_, sqlite3_errstr(code)));
}

int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(db_); }
int64_t Connection::changes() const { return sqlite3_changes64(db_); }
bool Connection::in_transaction() const { return sqlite3_get_autocommit(db_) == 0; }

bool Row::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
int64_t Row::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Row::Real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view Row::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string_view() : std::string_view(text, sqlite3_column_bytes(statement_, column));
}
std::string_view Row::Blob(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(data, sqlite3_column_bytes(statement_, column));
}
Digest Row::Sha(int column) const {
  Digest digest;
  const std::string_view raw = Blob(column);
  if (raw.size() == digest.bytes.size()) std::memcpy(digest.bytes.data(), raw.data(), raw.size());
  return digest;
}

StatusOr<std::unique_ptr<Statement>> Statement::Prepare(Connection& db, std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(db.db_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return db.Error("read", code);
  return std::unique_ptr<Statement>(new Statement(db, raw));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Status Statement::BindInt(int position, int64_t value) {
  const int code = sqlite3_bind_int64(statement_, position, value);
  return code == SQLITE_OK ? OkStatus() : db_.Error("bind", code);
}
Status Statement::BindReal(int position, double value) {
  const int code = sqlite3_bind_double(statement_, position, value);
  return code == SQLITE_OK ? OkStatus() : db_.Error("bind", code);
}
Status Statement::BindText(int position, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();  // A null pointer would bind NULL.
  const int code = sqlite3_bind_text64(statement_, position, data, value.size(), SQLITE_STATIC, SQLITE_UTF8);
  return code == SQLITE_OK ? OkStatus() : db_.Error("bind", code);
}
Status Statement::BindBlob(int position, std::string_view value) {
  const char* data = value.data() == nullptr ? "" : value.data();
  const int code = sqlite3_bind_blob64(statement_, position, data, value.size(), SQLITE_STATIC);
  return code == SQLITE_OK ? OkStatus() : db_.Error("bind", code);
}
Status Statement::BindNull(int position) {
  const int code = sqlite3_bind_null(statement_, position);
  return code == SQLITE_OK ? OkStatus() : db_.Error("bind", code);
}

StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const bool commits = sqlite3_stricmp(sqlite3_sql(statement_), "COMMIT") == 0;
  return db_.Error(sqlite3_stmt_readonly(statement_) && !commits ? "read" : "write", code);
}

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  in_use_ = false;
}

StatusOr<Transaction> Transaction::Begin(Connection& db, Kind kind) {
  RETURN_IF_ERROR(db.Run(kind == Kind::kWrite ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(db);
}

Transaction::~Transaction() {
  if (db_ != nullptr && db_->in_transaction()) (void)db_->Run("ROLLBACK");
}

Status Transaction::Commit() {
  RETURN_IF_ERROR(db_->Run("COMMIT"));
  db_ = nullptr;
  return OkStatus();
}

}  // namespace lathe::sqlite
