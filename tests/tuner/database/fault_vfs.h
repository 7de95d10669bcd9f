// A disk that fails: SQLite's default files, but with every write, sync, truncation and deletion counted, so that a
// test can have the n-th one fail, or cut the power at it.
//
// After a power cut nothing can be read or written any more until Restart, which leaves on the disk what had been
// synced and, of what was written since, any part.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "support/random.h"

namespace lathe {

enum class DiskFault {
  kFull,  // A write or truncation fails for want of space, a sync or deletion with an I/O error; the next one works.
  kPowerCut,  // All that follows fails as well.
};

// SQLite's default VFS while it lives: connections are opened after it was made and closed before it is gone. Files
// are those of databases, their journals and WALs; the shared memory beside them dies with the power.
class FaultVfs {
 public:
  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;

  int64_t operations() const;  // So far, since the last Arm.
  bool has_failed() const;     // Since the last Arm.
  int64_t bytes_read() const;  // Likewise.
  // Called before each sync, on the thread that syncs; empty: nothing is.
  void OnSync(std::function<void()> hook);
  // The n-th operation from now on fails, from 1; 0: none does.
  void Arm(int64_t n, DiskFault fault);
  // The power is back. No connection is open. `random` says what was written without being synced: null: nothing.
  void Restart(Random* random);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
