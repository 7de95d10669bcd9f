// A file that is bytes in memory, which must outlive it.
#pragma once

#include <cstring>
#include <span>

#include "runtime/artifact_meta.h"

namespace lathe {

class MemoryFile : public FileBytes {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return false;
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace lathe
