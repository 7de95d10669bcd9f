// SQLite behind Status: the only door to the library. <sqlite3.h> stays inside sqlite.cc.
//
// Every error says "operation path: SQLite's words; next step" and carries the code that tells what follows:
// kResourceExhausted (disk full), kFailedPrecondition (read-only), kDataLoss (corrupt), kUnavailable (locked).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "support/digest.h"
#include "support/status.h"
#include "support/status_macros.h"

struct sqlite3;
struct sqlite3_stmt;

namespace lathe::sqlite {

class Statement;

// Text is bound as TEXT; wrap what is bytes. The bytes must outlive the call.
struct Bytes {
  std::string_view data;
};

// One connection. Not thread-safe; one thread at a time.
class Connection {
 public:
  enum class Mode {
    kReadWrite,  // Creates the file when it is missing.
    kReadOnly,   // Beside a writer too. Never writes the database, never checkpoints.
    kImmutable,  // For a file on a read-only medium that nobody writes: takes no locks, ignores a WAL.
  };
  static constexpr const char* kMemory = ":memory:";

  static StatusOr<std::unique_ptr<Connection>> Open(const std::string& path, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs every statement of a script without arguments; rows are dropped.
  Status Execute(const std::string& script);
  // The statement for `sql`, prepared at its first use and kept with the connection.
  StatusOr<Statement*> Cached(std::string_view sql);

  // Shorthands over Cached(). `sql` is a constant of the program: never text put together from input.
  template <typename... Args>
  Status Run(std::string_view sql, const Args&... args);
  template <typename Visit, typename... Args>
  Status Each(std::string_view sql, Visit&& visit, const Args&... args);
  template <typename T, typename... Args>
  StatusOr<std::optional<T>> First(std::string_view sql, const Args&... args);

  // A copy of the database as it is at one moment, synced, in a new file. Whoever writes goes on meanwhile.
  Status CopyTo(const std::string& path);

  // Brings what was committed before its call to the disk, without the connection: on any thread, while that is open
  // and used by its own. Asked for after the first commit. Empty: nothing is to be done, in memory or without a WAL.
  using LogSync = std::function<Status()>;
  StatusOr<LogSync> LogSyncer();

  int64_t last_insert_id() const;
  // The whole database as the bytes of its file, and back: replaces what a connection in memory holds.
  StatusOr<std::string> Image();
  Status Restore(std::string_view image);
  int64_t changes() const;  // Rows changed by the latest statement.
  bool in_transaction() const;
  const std::string& path() const { return path_; }
  // What went wrong last, as a Status about `operation`.
  Status Error(std::string_view operation, int code) const;

 private:
  Connection(sqlite3* db, std::string path);

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  sqlite3* db_;
  std::string path_;
  std::unordered_map<std::string, std::unique_ptr<Statement>, TextHash, std::equal_to<>> cache_;
  friend class Statement;
};

// The present row of a running statement; views are valid until the visitor returns.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;
  std::string_view Blob(int column) const;
  Digest Sha(int column) const;  // Zero-filled unless 32 bytes are stored.
  std::string String(int column) const { return std::string(Text(column)); }
  std::optional<int64_t> MaybeInt(int column) const {
    return IsNull(column) ? std::nullopt : std::optional(Int(column));
  }
  std::optional<double> MaybeReal(int column) const {
    return IsNull(column) ? std::nullopt : std::optional(Real(column));
  }
  std::optional<Digest> MaybeSha(int column) const {
    return IsNull(column) ? std::nullopt : std::optional(Sha(column));
  }

  template <typename T>
  T Get(int column) const {
    if constexpr (std::is_same_v<T, std::string>)
      return String(column);
    else if constexpr (std::is_same_v<T, Digest>)
      return Sha(column);
    else if constexpr (std::floating_point<T>)
      return static_cast<T>(Real(column));
    else
      return static_cast<T>(Int(column));
  }

 private:
  sqlite3_stmt* statement_;
};

// Prepared once; binds by type, resets after each use, finalizes when destroyed. Not thread-safe, not re-entrant: a
// visitor must not run the statement that it is visiting.
class Statement {
 public:
  static StatusOr<std::unique_ptr<Statement>> Prepare(Connection& db, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Runs to the end; rows are dropped.
  template <typename... Args>
  Status Run(const Args&... args) {
    return Each([](const Row&) {}, args...);
  }
  // Calls `visit(row)` for each row; a visitor that returns a Status ends the walk with its first failure.
  template <typename Visit, typename... Args>
  Status Each(Visit&& visit, const Args&... args) {
    const Use use(*this);
    int position = 0;
    Status bound;
    ((bound = bound.ok() ? Bind(++position, args) : bound), ...);
    RETURN_IF_ERROR(bound);
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_row, Step());
      if (!has_row) return OkStatus();
      if constexpr (std::is_void_v<std::invoke_result_t<Visit, const Row&>>) {
        visit(Row(statement_));
      } else {
        RETURN_IF_ERROR(visit(Row(statement_)));
      }
    }
  }
  // First column of the first row, nullopt when there is no row or the value is NULL.
  template <typename T, typename... Args>
  StatusOr<std::optional<T>> First(const Args&... args) {
    std::optional<T> value;
    bool seen = false;
    RETURN_IF_ERROR(Each(
        [&](const Row& row) {
          if (!seen && !row.IsNull(0)) value = row.template Get<T>(0);
          seen = true;
        },
        args...));
    return value;
  }

 private:
  struct Use {  // Resets on every way out.
    explicit Use(Statement& s) : statement(s) {
      CHECK(!s.in_use_) << "a statement is run from its own visitor";
      s.in_use_ = true;
    }
    ~Use() { statement.Reset(); }
    Statement& statement;
  };
  Statement(Connection& db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}

  template <typename T>
  Status Bind(int position, const std::optional<T>& value) {
    return value.has_value() ? Bind(position, *value) : Bind(position, std::nullopt);
  }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  Status Bind(int position, T value) {
    return BindInt(position, static_cast<int64_t>(value));
  }
  Status Bind(int position, double value) { return BindReal(position, value); }
  Status Bind(int position, std::string_view value) { return BindText(position, value); }
  Status Bind(int position, const std::string& value) { return BindText(position, value); }
  Status Bind(int position, const char* value) { return BindText(position, value); }
  Status Bind(int position, const Bytes& value) { return BindBlob(position, value.data); }
  Status Bind(int position, const Digest& value) { return BindBlob(position, value.raw()); }
  Status Bind(int position, std::nullopt_t) { return BindNull(position); }

  Status BindInt(int position, int64_t value);
  Status BindReal(int position, double value);
  Status BindText(int position, std::string_view value);
  Status BindBlob(int position, std::string_view value);
  Status BindNull(int position);
  StatusOr<bool> Step();
  void Reset();

  Connection& db_;
  sqlite3_stmt* statement_;
  bool in_use_ = false;
};

// BEGIN IMMEDIATE (kWrite: fails at once rather than at its first write) or a read snapshot. Rolls back unless
// committed.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };
  static StatusOr<Transaction> Begin(Connection& db, Kind kind);
  ~Transaction();
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  Status Commit();

 private:
  explicit Transaction(Connection& db) : db_(&db) {}
  Connection* db_;
};

template <typename... Args>
Status Connection::Run(std::string_view sql, const Args&... args) {
  ASSIGN_OR_RETURN(Statement * statement, Cached(sql));
  return statement->Run(args...);
}
template <typename Visit, typename... Args>
Status Connection::Each(std::string_view sql, Visit&& visit, const Args&... args) {
  ASSIGN_OR_RETURN(Statement * statement, Cached(sql));
  return statement->Each(std::forward<Visit>(visit), args...);
}
template <typename T, typename... Args>
StatusOr<std::optional<T>> Connection::First(std::string_view sql, const Args&... args) {
  ASSIGN_OR_RETURN(Statement * statement, Cached(sql));
  return statement->First<T>(args...);
}

}  // namespace lathe::sqlite
