// Read-only connections to one file, opened as they are needed and lent to one read at a time.
//
// Two kinds of reads share them: look-ups by a key, which are short and which the coordinator's loop waits for, and
// lists, of which clients may ask for many at once. Lists leave some connections alone, so that a look-up waits for
// look-ups only.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "support/status.h"

namespace lathe {

namespace sqlite {
class Connection;
}

enum class ReadKind { kLookUp, kList };

class ReaderPool {
 public:
  using Opener = std::function<StatusOr<std::unique_ptr<sqlite::Connection>>()>;
  struct Limits {
    int readers = 8;
    int lists = 4;  // Of these, at once; fewer than `readers`.
  };
  ReaderPool(Opener open, Limits limits);
  ~ReaderPool();  // When nothing is lent.
  ReaderPool(const ReaderPool&) = delete;

  // Gives the connection back when it is destroyed.
  class Loan {
   public:
    Loan(ReaderPool& pool, ReadKind kind, std::unique_ptr<sqlite::Connection> reader);
    ~Loan();
    Loan(Loan&&) noexcept = default;
    Loan& operator=(Loan&&) = delete;
    sqlite::Connection& operator*() const { return *reader_; }

   private:
    ReaderPool* pool_;
    ReadKind kind_;
    std::unique_ptr<sqlite::Connection> reader_;  // Null after a move.
  };
  // Thread-safe. Waits until one is free for this kind; an error is that of opening it.
  StatusOr<Loan> Borrow(ReadKind kind);
  // Closes what is not lent.
  void CloseIdle();

 private:
  bool HasRoom(ReadKind kind) const;
  void Return(ReadKind kind, std::unique_ptr<sqlite::Connection> reader);

  const Opener open_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<sqlite::Connection>> idle_;  // These three are guarded by mutex_.
  int lent_ = 0, lent_to_lists_ = 0;
};

}  // namespace lathe
