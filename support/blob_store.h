// Files named by the SHA-256 of their content. A file has its name only after its content was checked, so whoever finds
// a path may use it. Used by the coordinator (artifacts, models) and by devices (least recently used files go first).
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// Not thread-safe. One process owns the folder; readers of other processes may open files by path.
class BlobStore {
 public:
  // Creates `directory` if needed, takes in the blobs already there, and deletes what was left half-written by an
  // earlier process, except parts that can be resumed. `limit_bytes` <= 0: no limit.
  static StatusOr<BlobStore> Open(std::string directory, int64_t limit_bytes);

  // The whole content at once. Storing what is there already is cheap.
  StatusOr<Digest> Put(std::string_view content);
  // The path of a complete blob; NotFound if it is not here. Counts as a use.
  StatusOr<std::string> Path(const Digest& digest);
  bool Contains(const Digest& digest) const { return blobs_.contains(digest); }
  // Up to `limit` bytes from `offset`. NotFound, OutOfRange.
  StatusOr<std::string> Read(const Digest& digest, int64_t offset, int64_t limit) const;
  StatusOr<int64_t> Size(const Digest& digest) const;

  // In pieces: bytes held so far of an unfinished blob, 0 if none.
  int64_t PartialSize(const Digest& digest) const;
  // Appends at `offset`, which must be PartialSize. Once `total` bytes are here: verifies, renames, and returns true.
  // On a wrong digest the part is deleted: DataLoss. ResourceExhausted if it cannot fit the limit beside the pinned
  // blobs.
  StatusOr<bool> Append(const Digest& digest, int64_t offset, std::string_view data, int64_t total);

  // A pinned blob is never evicted. Counts; a pin may come before its blob.
  void Pin(const Digest& digest) { ++pins_[digest]; }
  void Unpin(const Digest& digest);
  int64_t bytes() const { return bytes_; }
  const std::string& directory() const { return directory_; }

 private:
  struct Blob {
    int64_t size;
    std::list<Digest>::iterator use;
  };
  BlobStore(std::string directory, int64_t limit_bytes) : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}
  std::string FinalPath(const Digest& digest) const { return directory_ + "/" + digest.ToHex(); }
  std::string PartPath(const Digest& digest) const { return FinalPath(digest) + ".part"; }
  Status TakeInFolder();
  Status MakeRoom(int64_t bytes);
  void Remember(const Digest& digest, int64_t size);
  void Touch(Blob& blob) { uses_.splice(uses_.end(), uses_, blob.use); }

  std::string directory_;
  int64_t limit_bytes_;
  int64_t bytes_ = 0;       // Of complete blobs.
  std::list<Digest> uses_;  // Least recently used first.
  std::unordered_map<Digest, Blob, DigestHash> blobs_;
  std::unordered_map<Digest, int, DigestHash> pins_;
};

}  // namespace lathe
