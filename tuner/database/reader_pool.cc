#include "tuner/database/reader_pool.h"

#include "support/sqlite.h"

namespace lathe {

ReaderPool::Loan::Loan(ReaderPool& pool, ReadKind kind, std::unique_ptr<sqlite::Connection> reader)
    : pool_(&pool), kind_(kind), reader_(std::move(reader)) {}

ReaderPool::Loan::~Loan() {
  if (reader_ != nullptr) pool_->Return(kind_, std::move(reader_));
}

ReaderPool::ReaderPool(Opener open, Limits limits) : open_(std::move(open)), limits_(limits) {
  CHECK(limits.lists < limits.readers) << limits.lists << " of " << limits.readers;
}
ReaderPool::~ReaderPool() = default;

bool ReaderPool::HasRoom(ReadKind kind) const {
  return lent_ < limits_.readers && (kind == ReadKind::kLookUp || lent_to_lists_ < limits_.lists);
}

StatusOr<ReaderPool::Loan> ReaderPool::Borrow(ReadKind kind) {
  std::unique_ptr<sqlite::Connection> reader;
  {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return HasRoom(kind); });
    ++lent_;
    lent_to_lists_ += kind == ReadKind::kList ? 1 : 0;
    if (!idle_.empty()) {
      reader = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (reader != nullptr) return Loan(*this, kind, std::move(reader));
  StatusOr<std::unique_ptr<sqlite::Connection>> opened = open_();
  if (opened.ok()) return Loan(*this, kind, *std::move(opened));
  Return(kind, nullptr);
  return opened.status();
}

void ReaderPool::Return(ReadKind kind, std::unique_ptr<sqlite::Connection> reader) {
  const std::lock_guard lock(mutex_);
  --lent_;
  lent_to_lists_ -= kind == ReadKind::kList ? 1 : 0;
  if (reader != nullptr) idle_.push_back(std::move(reader));
  returned_.notify_all();  // Whoever is woken may be of the kind that still has to wait.
}

void ReaderPool::CloseIdle() {
  const std::lock_guard lock(mutex_);
  idle_.clear();
}

}  // namespace lathe
