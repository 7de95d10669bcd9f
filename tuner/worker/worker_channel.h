// What a worker needs of the coordinator: in process the coordinator itself, over gRPC a client.
#pragma once

#include <string>

#include "proto/lathe/v1/worker.pb.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

inline constexpr size_t kMaxBuildErrorBytes = 64 << 10;  // Of a failure's words; a worker cuts off the rest.

// Thread-safe: calls overlap.
class WorkerChannel {
 public:
  virtual ~WorkerChannel() = default;
  // May take request.wait_ns longer than its way. A further call of the same worker ends the wait of the former one.
  virtual StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) = 0;
  // Content-addressed: storing twice is harmless.
  virtual Status StoreArtifact(const Digest& digest, const std::string& content) = 0;
};

}  // namespace lathe
