#include "tuner/database/group_writer.h"

#include <fmt/core.h>

#include <algorithm>

namespace lathe {

GroupWriter::GroupWriter(std::unique_ptr<sqlite::Connection> db, Limits limits)
    : limits_(limits), db_(std::move(db)), thread_([this] { Loop(); }), syncer_([this] { SyncLoop(); }) {}

GroupWriter::~GroupWriter() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    wake_.notify_one();
  }
  thread_.join();
  {
    std::lock_guard lock(mutex_);
    is_writer_done_ = true;
    sync_wake_.notify_one();
  }
  syncer_.join();
}

std::vector<Status> GroupWriter::RunEach(std::span<const Operation> operations, Durability durability) {
  std::deque<Pending> all;  // Where they are, they stay.
  for (const Operation& operation : operations) all.emplace_back(&operation, durability);
  std::vector<Status> statuses;
  std::unique_lock lock(mutex_);
  for (Pending& pending : all) queue_.push_back(&pending);
  wake_.notify_one();
  for (Pending& pending : all) {
    pending.finished.wait(lock, [&] { return pending.done; });
    statuses.push_back(std::move(pending.status));
  }
  return statuses;
}

GroupWriter::Counters GroupWriter::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

void GroupWriter::Loop() {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] { return closing_ || !queue_.empty(); };
  for (;;) {
    if (!wake_.wait_for(lock, limits_.idle, has_work)) {
      lock.unlock();
      FoldWal();
      lock.lock();
      if (!has_work()) wake_.wait(lock, has_work);
    }
    if (queue_.empty()) return;  // Closing.
    CommitGroup(lock);
  }
}

// Called and left with the lock held; runs the operations without it.
void GroupWriter::CommitGroup(std::unique_lock<std::mutex>& lock) {
  std::deque<Pending*> group;
  const bool synced = std::any_of(queue_.begin(), queue_.end(),
                                  [](const Pending* p) { return p->durability == Durability::kPowerLoss; });
  const Durability durability = synced ? Durability::kPowerLoss : Durability::kProcess;
  lock.unlock();
  const auto started = std::chrono::steady_clock::now();
  Status fate = Begin(durability);
  lock.lock();
  while (!queue_.empty() && static_cast<int>(group.size()) < limits_.operations &&
         (synced || queue_.front()->durability != Durability::kPowerLoss) &&
         (group.empty() || std::chrono::steady_clock::now() - started < limits_.duration)) {
    Pending* pending = queue_.front();
    queue_.pop_front();
    group.push_back(pending);
    lock.unlock();
    if (fate.ok()) fate = RunOne(*pending);
    lock.lock();
  }
  lock.unlock();
  if (fate.ok()) fate = db_->Run("COMMIT");
  if (!fate.ok() && db_->in_transaction()) (void)db_->Run("ROLLBACK");
  wal_has_pages_ = true;
  const StatusOr<bool> is_synced_later = synced || !fate.ok() ? false : HasLog();
  if (!is_synced_later.ok()) fate = is_synced_later.status();
  lock.lock();
  counters_.operations += static_cast<int64_t>(group.size());
  ++counters_.commits;
  for (Pending* pending : group) {
    const bool waits = fate.ok() && *is_synced_later && pending->durability == Durability::kPowerLossAfter;
    if (waits && pending->status.ok())
      committed_.push_back(pending);
    else
      Answer(*pending, fate);
  }
  if (!committed_.empty()) sync_wake_.notify_one();
}

// With the lock held: the caller may be gone at once.
void GroupWriter::Answer(Pending& pending, const Status& fate) {
  if (!fate.ok()) pending.status = fate;
  pending.done = true;
  pending.finished.notify_one();
}

StatusOr<bool> GroupWriter::HasLog() {
  if (!sync_log_) {
    ASSIGN_OR_RETURN(sync_log_, db_->LogSyncer());
  }
  return *sync_log_ != nullptr;
}

// One sync answers all that was committed before it began.
void GroupWriter::SyncLoop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    sync_wake_.wait(lock, [&] { return is_writer_done_ || !committed_.empty(); });
    if (committed_.empty()) return;
    const std::deque<Pending*> batch = std::exchange(committed_, {});
    lock.unlock();
    const Status fate = (*sync_log_)();
    lock.lock();
    for (Pending* pending : batch) Answer(*pending, fate);
  }
}

Status GroupWriter::Begin(Durability durability) {
  if (durability != durability_) {  // Legal between transactions only.
    RETURN_IF_ERROR(db_->Execute(durability == Durability::kPowerLoss ? "PRAGMA synchronous = FULL"
                                                                      : "PRAGMA synchronous = NORMAL"));
    durability_ = durability;
  }
  return db_->Run("BEGIN IMMEDIATE");
}

// An error here is the whole group's: SQLite has given up the transaction (disk full, I/O error).
Status GroupWriter::RunOne(Pending& pending) {
  RETURN_IF_ERROR(db_->Run("SAVEPOINT operation"));
  pending.status = (*pending.operation)(*db_);
  if (!db_->in_transaction()) {
    return pending.status.ok() ? Aborted(fmt::format("write {}: the transaction was rolled back; repeat", db_->path()))
                               : pending.status;
  }
  if (!pending.status.ok()) RETURN_IF_ERROR(db_->Run("ROLLBACK TO operation"));
  return db_->Run("RELEASE operation");
}

// Readers of a long snapshot keep it from finishing; then the next idle moment tries again.
void GroupWriter::FoldWal() {
  if (!wal_has_pages_) return;
  (void)db_->Execute("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA busy_timeout = 5000");
  wal_has_pages_ = false;
}

}  // namespace lathe
