// Copies that a thread has started and not waited for. Private to this folder.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "compiler/interpreter/number.h"

namespace lathe {

struct Storage;

// Of one cell: whether a copy into it is in flight, and how many read it.
struct Flight {
  bool is_written = false;
  uint16_t num_readers = 0;
};
bool IsWrittenByCopy(const Storage& storage, int64_t cell);
bool IsInFlight(const Storage& storage, int64_t cell);
bool IsAnyInFlight(const Storage& storage);

struct AsyncCopy {
  Storage* from;  // nullptr: what it reads is no single element.
  int64_t from_cell;
  Storage* to;
  int64_t to_cell;
  Value value;
  int statement;
};

// Groups of copies, oldest first, in queues. The cell a copy writes is in flight from Start to End; nobody may touch
// it, nor change what it reads.
class AsyncCopies {
 public:
  void Start(const AsyncCopy& copy);
  void Commit(int64_t queue);  // What was started since is one group.
  // The copies of all but the last `num_left` groups of `queue`; they are no longer in flight, the caller writes.
  std::vector<AsyncCopy> Finish(int64_t queue, int64_t num_left);
  void Drop();  // Whatever is in flight never arrives.
  bool empty() const;

 private:
  std::vector<AsyncCopy> open_;
  std::map<int64_t, std::deque<std::vector<AsyncCopy>>> queues_;
};

}  // namespace lathe
