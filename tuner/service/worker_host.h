// Who answers remote workers: the coordinator, as WorkerService needs it.
#pragma once

#include <functional>
#include <string>

#include "proto/lathe/v1/worker.pb.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

using WorkerAnswer = std::function<void(StatusOr<v1::SynchronizeResponse>)>;

// Thread-safe.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  // Answers on some thread, once, at the latest when request.wait_ns is over.
  virtual void SynchronizeLater(const v1::SynchronizeRequest& request, WorkerAnswer answer) = 0;
  // `content` has that digest. Storing twice is harmless.
  virtual Status StoreArtifact(const Digest& digest, const std::string& content) = 0;
};

}  // namespace lathe
