// One process owns a database file. The lock is a flock on "<file>.lock": the kernel drops it when the process ends,
// however it ends, so nothing stale is ever left.
#pragma once

#include <string>

#include "support/status.h"

namespace lathe {

class OwnerLock {
 public:
  // kUnavailable while another process (or another Store of this one) owns the file; says which process.
  static StatusOr<OwnerLock> Acquire(const std::string& database_path);
  OwnerLock() = default;
  ~OwnerLock();
  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&& other) noexcept;

 private:
  explicit OwnerLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace lathe
