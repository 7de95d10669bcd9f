// The one thread that writes: it owns the only writable connection and puts waiting operations into shared
// transactions.
//
// An operation runs in a savepoint of its own, so one that fails takes back only itself. A transaction takes what is
// waiting, ends after 256 operations or 5 ms, and never waits for more: while one commit is on its way to the disk, the
// next group gathers by itself, and a lone caller pays for one commit only. A group of operations that need not survive
// power loss is not synced; the next synced group takes it along, so the order of what survives is the order of the
// commits. Operations that may happen although they are answered with an error are committed like those, and a second
// thread brings the log to the disk before they are answered: meanwhile the writer goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "support/sqlite.h"

namespace lathe {

// What an answered operation survives. All survive kill -9; the difference is one fsync, and who waits for it.
enum class Durability {
  kPowerLoss,       // For what cannot be had again: jobs, epochs.
  kPowerLossAfter,  // Likewise, but nobody else waits for it; if the disk refuses, it may have happened: for records.
  kProcess,         // For what is repeated harmlessly when lost: claims, progress, heartbeats, renewals.
};

class GroupWriter {
 public:
  struct Limits {
    int operations = 256;
    std::chrono::microseconds duration = std::chrono::milliseconds(5);
    std::chrono::milliseconds idle = std::chrono::seconds(1);  // Then the WAL is folded into the file.
  };
  struct Counters {
    int64_t operations = 0, commits = 0;
  };
  // Runs on the writer's thread. May run once only; what it captured is the caller's until Run returns.
  using Operation = std::function<Status(sqlite::Connection&)>;

  GroupWriter(std::unique_ptr<sqlite::Connection> db, Limits limits);
  ~GroupWriter();  // Finishes what is queued.

  // Waits until the operation is committed; its own error or the commit's otherwise.
  Status Run(const Operation& operation, Durability durability) {
    return RunEach(std::span(&operation, 1), durability).front();
  }
  // Likewise, of each; they follow each other in the order of commits.
  std::vector<Status> RunEach(std::span<const Operation> operations, Durability durability);
  Counters counters() const;

 private:
  struct Pending {
    Pending(const Operation* run, Durability survives) : operation(run), durability(survives) {}
    const Operation* operation;
    Durability durability;
    Status status;
    bool done = false;
    std::condition_variable finished;
  };
  void Loop();
  void CommitGroup(std::unique_lock<std::mutex>& lock);
  Status Begin(Durability durability);
  Status RunOne(Pending& pending);
  void FoldWal();
  StatusOr<bool> HasLog();
  void SyncLoop();
  void Answer(Pending& pending, const Status& fate);

  const Limits limits_;
  const std::unique_ptr<sqlite::Connection> db_;  // The writer's thread only.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Pending*> queue_;                      // Guarded by mutex_.
  bool closing_ = false;                            // Guarded by mutex_.
  Counters counters_;                               // Guarded by mutex_.
  bool wal_has_pages_ = false;                      // The writer's thread only.
  Durability durability_ = Durability::kPowerLoss;  // Of the connection at present; the writer's thread only.
  std::condition_variable sync_wake_;
  std::deque<Pending*> committed_;                       // To be synced. Guarded by mutex_.
  bool is_writer_done_ = false;                          // Guarded by mutex_.
  std::optional<sqlite::Connection::LogSync> sync_log_;  // Set once, before anything is in committed_.
  std::thread thread_, syncer_;                          // Last: they start when all else is ready.
};

}  // namespace lathe
