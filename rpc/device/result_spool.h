// Results on disk until the server has committed them, one file each, named by the result key. A file is the serialised
// MeasureResult followed by the SHA-256 of it; written aside and renamed, without fsync
// (docs/formats/device_protocol.md says why).
#pragma once

#include <string>
#include <vector>

#include "proto/lathe/v1/device.pb.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// Not thread-safe. One process owns the folder.
class ResultSpool {
 public:
  static StatusOr<ResultSpool> Open(std::string directory);
  // The results of earlier processes. Files that are torn or foreign are deleted.
  std::vector<v1::MeasureResult> Load();
  Status Store(const v1::MeasureResult& result);
  void Delete(const Digest& key);  // Harmless if it is not there.

 private:
  explicit ResultSpool(std::string directory) : directory_(std::move(directory)) {}
  std::string directory_;
};

}  // namespace lathe
