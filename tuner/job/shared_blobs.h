// The coordinator's blobs, for all of its threads.
#pragma once

#include <mutex>

#include "rpc/gateway/device_gateway.h"
#include "support/blob_store.h"
#include "support/status_macros.h"
#include "tuner/measure/reference.h"

namespace lathe {

class SharedBlobs : public ReferenceBlobs {
 public:
  explicit SharedBlobs(BlobStore blobs) : blobs_(std::move(blobs)) {}

  StatusOr<Digest> PutBlob(std::string_view content) override {
    std::lock_guard lock(mutex_);
    return blobs_.Put(content);
  }
  bool HasBlob(const Digest& digest, int64_t size_bytes) override {
    const StatusOr<int64_t> size = Size(digest);
    return size.ok() && *size == size_bytes;
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
