// The coordinator's blobs, for all of its threads.
#pragma once

#include <mutex>

#include "rpc/gateway/device_gateway.h"
#include "support/blob_store.h"
#include "support/status_macros.h"
#include "tuner/database/prune.h"
#include "tuner/measure/reference.h"

namespace lathe {

class SharedBlobs : public ReferenceBlobs, public BlobFiles {
 public:
  explicit SharedBlobs(BlobStore blobs) : blobs_(std::move(blobs)) {}

  StatusOr<Digest> PutBlob(std::string_view content) override {
    std::lock_guard lock(mutex_);
    return blobs_.Put(content);
  }
  // Counts as a use: whoever asks is about to refer to it.
  bool HasBlob(const Digest& digest, int64_t size_bytes) override {
    std::lock_guard lock(mutex_);
    const StatusOr<int64_t> size = blobs_.Size(digest);
    return size.ok() && *size == size_bytes && blobs_.Path(digest).ok();
  }
  StatusOr<int64_t> Size(const Digest& digest) {
    std::lock_guard lock(mutex_);
    return blobs_.Size(digest);
  }
  StatusOr<BlobPiece> Read(const Digest& digest, int64_t offset, int64_t limit) {
    std::lock_guard lock(mutex_);
    ASSIGN_OR_RETURN(std::string data, blobs_.Read(digest, offset, limit));
    ASSIGN_OR_RETURN(const int64_t size, blobs_.Size(digest));
    return BlobPiece{std::move(data), size};
  }
  std::vector<BlobFile> ListFiles() override {
    std::lock_guard lock(mutex_);
    std::vector<BlobFile> files;
    for (const StoredBlob& blob : blobs_.List())
      files.push_back({blob.digest, blob.size_bytes, blob.last_used_unix_ns, blob.is_pinned});
    return files;
  }
  bool DeleteUnused(const BlobFile& file) override {
    std::lock_guard lock(mutex_);
    return blobs_.DeleteUnused({file.digest, file.size_bytes, file.last_used_unix_ns});
  }
  // A pinned blob is never evicted. Counts.
  void Pin(const Digest& digest) {
    std::lock_guard lock(mutex_);
    blobs_.Pin(digest);
  }
  void Unpin(const Digest& digest) {
    std::lock_guard lock(mutex_);
    blobs_.Unpin(digest);
  }

 private:
  std::mutex mutex_;
  BlobStore blobs_;  // Guarded by mutex_.
};

}  // namespace lathe
