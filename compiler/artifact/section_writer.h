// Bytes of an artifact's sections: tables and strings behind a header, each at a multiple of 8, named by their offsets.
#pragma once

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

class SectionWriter {
 public:
  // The first `header_bytes` are filled by Finish.
  explicit SectionWriter(size_t header_bytes) : bytes_(header_bytes, '\0') {}

  template <typename T>
  uint32_t Table(std::span<const T> rows) {
    const uint32_t offset = Align();
    bytes_.append(reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
    return offset;
  }
  template <typename T>
  uint32_t Table(const std::vector<T>& rows) {
    return Table(std::span<const T>(rows));
  }
  // Up to its first NUL; equal strings stand once.
  uint32_t String(std::string_view text) {
    const auto [row, is_new] = strings_.emplace(text.substr(0, text.find('\0')), 0);
    if (is_new) {
      row->second = Align();
      bytes_.append(row->first.c_str(), row->first.size() + 1);
    }
    return row->second;
  }
  // The size of the section when nothing more is added.
  uint32_t size() { return Align(); }
  // Puts the parts of the header where they belong, one behind the other, and gives the section.
  template <typename... Parts>
  std::string Finish(const Parts&... parts) {
    Align();
    size_t at = 0;
    ((std::memcpy(bytes_.data() + at, &parts, sizeof(parts)), at += sizeof(parts)), ...);
    return std::move(bytes_);
  }

 private:
  uint32_t Align() {
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
    return static_cast<uint32_t>(bytes_.size());
  }
  std::string bytes_;
  std::map<std::string, uint32_t, std::less<>> strings_;
};

}  // namespace lathe
