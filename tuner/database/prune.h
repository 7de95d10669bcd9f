// Goes through a database and has it forget what retention.h says, in steps that never hold its writer for long.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "tuner/database/store.h"

namespace lathe {

// The files of the database's blobs, of which another thread may use any at any moment.
class BlobFiles {
 public:
  virtual ~BlobFiles() = default;
  virtual std::vector<BlobFile> ListFiles() = 0;
  // False if it was used or pinned since `file` was listed, or is not there.
  virtual bool DeleteUnused(const BlobFile& file) = 0;
};

struct PruneOptions {
  RetentionPolicy policy;
  bool is_dry_run = false;                            // Counts what would go; changes nothing.
  std::function<bool()> go_on = [] { return true; };  // Asked before each step; false ends it.
  int rows_at_once = 200;                             // One transaction at most.
};
struct PruneReport {
  std::array<int64_t, std::size(kRetentionKinds)> rows{};  // That went, by RetentionKind.
  int64_t files = 0, file_bytes = 0;
  int64_t total() const;
  std::string ToString() const;  // "12 events, 3 leases, ..., 2 files (4711 bytes)"; without what did not go.
};

// Files go after their rows: one whose row was forgotten when the process died is found again by the next pruning. A
// dry run counts no file whose row is to go first.
StatusOr<PruneReport> Prune(Store& store, BlobFiles& files, const PruneOptions& options);

}  // namespace lathe
