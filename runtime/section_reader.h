// Reads tables and strings of a hostile artifact section: nothing is followed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "runtime/error.h"

namespace lathe {

// Keeps the span; `section` names it in errors.
class SectionReader {
 public:
  SectionReader(const char* section, std::span<const std::byte> bytes) : section_(section), bytes_(bytes) {}

  // kDataLoss "decode .lathe.meta: <what>; build the artifact again".
  RuntimeError Corrupt(const std::string& what) const;
  const std::byte* data() const { return bytes_.data(); }
  // Row `index` of the table at `offset`; the table must have been checked by CheckTable.
  template <typename T>
  T At(uint32_t offset, uint32_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + offset + sizeof(T) * index, sizeof(T));
    return value;
  }
  // At most `limit` rows, aligned, inside the section.
  template <typename T>
  RuntimeError CheckTable(const char* what, uint32_t offset, uint32_t count, uint32_t limit) const {
    return CheckTableBytes(what, offset, count, sizeof(T), limit);
  }
  // NUL-terminated UTF-8 without control characters, at most 4096 bytes.
  RuntimeResult<std::string> String(const char* what, uint32_t offset) const;

 private:
  RuntimeError CheckTableBytes(const char* what, uint32_t offset, uint32_t count, size_t row_bytes,
                               uint32_t limit) const;
  const char* section_;
  std::span<const std::byte> bytes_;
};

}  // namespace lathe
