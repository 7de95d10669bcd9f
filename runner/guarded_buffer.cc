#include "runner/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/kernel_abi.h"

namespace lathe {
namespace {

constexpr char kPattern = static_cast<char>(0xC5);

int64_t RoundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

}  // namespace

RuntimeResult<GuardedBuffer> GuardedBuffer::Create(int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t padded = RoundUp(std::max<int64_t>(bytes, 1), LATHE_BUFFER_ALIGNMENT);
  const int64_t inner = RoundUp(padded, page);
  GuardedBuffer buffer;
  void* mapping = mmap(nullptr, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED || mprotect(static_cast<char*>(mapping) + page, inner, PROT_READ | PROT_WRITE) != 0) {
    const int failure = errno;
    if (mapping != MAP_FAILED) munmap(mapping, inner + 2 * page);
    return RuntimeError{RuntimeCode::kResourceExhausted,
                        FormatText("allocate a buffer of %lld bytes: %s; raise the memory limit", (long long)bytes,
                                   ErrnoText(failure).c_str())};
  }
  buffer.mapping_ = static_cast<char*>(mapping);
  buffer.mapping_bytes_ = inner + 2 * page;
  buffer.data_ = buffer.mapping_ + page + inner - padded;
  buffer.bytes_ = bytes;
  std::memset(buffer.mapping_ + page, kPattern, inner - padded);
  std::memset(buffer.data_ + bytes, kPattern, padded - bytes);
  return buffer;
}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

GuardedBuffer::GuardedBuffer(GuardedBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapping_bytes_(other.mapping_bytes_),
      data_(other.data_),
      bytes_(other.bytes_) {}

std::string GuardedBuffer::FindDamage() const {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const char* const begin = mapping_ + page;
  const char* const end = mapping_ + mapping_bytes_ - page;
  for (const char* at = end; at-- > data_ + bytes_;) {  // The farthest byte first.
    if (*at != kPattern)
      return FormatText("wrote up to %lld bytes past its end", (long long)(at - (data_ + bytes_)) + 1);
  }
  for (const char* at = begin; at < data_; ++at) {
    if (*at != kPattern) return FormatText("wrote up to %lld bytes before its begin", (long long)(data_ - at));
  }
  return {};
}

}  // namespace lathe
