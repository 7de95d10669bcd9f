// Memory for a kernel's buffer that notices when the kernel leaves it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/error.h"

namespace lathe {

// A buffer between two inaccessible pages. Its end lies at most 63 bytes before the second one, so a read or write
// further behind faults at once; the bytes between, and those between the first page and the buffer, hold a pattern
// that FindDamage checks. Aligned to LATHE_BUFFER_ALIGNMENT.
class GuardedBuffer {
 public:
  static RuntimeResult<GuardedBuffer> Create(int64_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer& operator=(GuardedBuffer&&) = delete;

  void* data() const { return data_; }
  int64_t size_bytes() const { return bytes_; }
  const void* mapping_begin() const { return mapping_; }
  int64_t mapping_bytes() const { return mapping_bytes_; }
  // Where the pattern is damaged, e.g. "wrote up to 4 bytes past its end"; empty when it is intact.
  std::string FindDamage() const;

 private:
  GuardedBuffer() = default;
  char* mapping_ = nullptr;
  int64_t mapping_bytes_ = 0;
  char* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace lathe
