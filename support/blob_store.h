// Files named by the SHA-256 of their content. A file has its name only after its content was checked and is on the
// disk; what an earlier process left, or what has changed since, is hashed before it is used, and deleted if it is not
// what its name says. So whoever finds a path may use it. Used by the coordinator (artifacts, references) and by
// devices (least recently used files go first; a file's time of modification says when it was used last).
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/digest.h"
#include "support/status.h"

namespace lathe {

struct StoredBlob {
  Digest digest;
  int64_t size_bytes = 0, last_used_unix_ns = 0;
  bool is_pinned = false;
};

// Not thread-safe. One process owns the folder; readers of other processes may open files by path.
class BlobStore {
 public:
  // Creates `directory` if needed, takes in the blobs already there, and deletes what was left half-written by an
  // earlier process, except parts that can be resumed. `limit_bytes` <= 0: no limit. Parts count; when room is needed
  // they go first.
  static StatusOr<BlobStore> Open(std::string directory, int64_t limit_bytes);

  // The whole content at once. Storing what is there already is cheap.
  StatusOr<Digest> Put(std::string_view content);
  // The path of a complete blob; NotFound if it is not here, or was not what its name says. Counts as a use.
  StatusOr<std::string> Path(const Digest& digest);
  bool Contains(const Digest& digest) { return Find(digest) != nullptr; }
  // Up to `limit` bytes from `offset`. NotFound, OutOfRange.
  StatusOr<std::string> Read(const Digest& digest, int64_t offset, int64_t limit);
  StatusOr<int64_t> Size(const Digest& digest);

  // In pieces: bytes held so far of an unfinished blob, 0 if none.
  int64_t PartialSize(const Digest& digest) const;
  // Appends at `offset`, which must be PartialSize. Once `total` bytes are here: verifies, renames, and returns true.
  // On a wrong digest the part is deleted: DataLoss. ResourceExhausted if it cannot fit the limit beside the pinned
  // blobs.
  StatusOr<bool> Append(const Digest& digest, int64_t offset, std::string_view data, int64_t total);

  // A pinned blob is never evicted. Counts; a pin may come before its blob.
  void Pin(const Digest& digest) { ++pins_[digest]; }
  void Unpin(const Digest& digest);
  int64_t bytes() const { return bytes_; }  // Of complete blobs.
  // Complete blobs, least recently used first.
  std::vector<StoredBlob> List() const;
  // Unless it is pinned, or was used since it was listed: then false.
  bool DeleteUnused(const StoredBlob& blob);
  const std::string& directory() const { return directory_; }

 private:
  struct FileStamp {
    int64_t size = -1, modified_ns = 0, changed_ns = 0;
    bool operator==(const FileStamp&) const = default;
  };
  struct Blob {
    int64_t size;
    std::list<Digest>::iterator use;
    int64_t used_unix_ns;
    std::optional<FileStamp> checked;  // Of the file when its content was hashed.
  };
  BlobStore(std::string directory, int64_t limit_bytes) : directory_(std::move(directory)), limit_bytes_(limit_bytes) {}
  std::string FinalPath(const Digest& digest) const { return directory_ + "/" + digest.ToHex(); }
  std::string PartPath(const Digest& digest) const { return FinalPath(digest) + ".part"; }
  Status TakeInFolder();
  static std::optional<FileStamp> StampOf(const std::string& path);
  // Whose content is what its name says; nullptr if there is none.
  Blob* Find(const Digest& digest);
  Status NotHere(const Digest& digest) const;
  Status GiveName(const std::string& temporary, const Digest& digest, int64_t size);
  // For so many bytes more; a part of `blob` stays.
  Status MakeRoom(int64_t bytes, const Digest& blob = Digest());
  void DropParts(const Digest& except, int64_t bytes);
  void DropPart(const Digest& digest);
  void Remember(const Digest& digest, int64_t size, int64_t used_unix_ns);
  void Delete(const Digest& digest);
  void Touch(const Digest& digest, Blob& blob);

  std::string directory_;
  int64_t limit_bytes_;
  int64_t bytes_ = 0;       // Of complete blobs,
  int64_t part_bytes_ = 0;  // and of parts.
  std::list<Digest> uses_;  // Least recently used first.
  std::unordered_map<Digest, Blob, DigestHash> blobs_;
  std::unordered_map<Digest, int64_t, DigestHash> parts_;  // Their sizes.
  std::unordered_map<Digest, int, DigestHash> pins_;
};

}  // namespace lathe
