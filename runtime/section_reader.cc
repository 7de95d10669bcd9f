#include "runtime/section_reader.h"

#include <cstring>

namespace lathe {
namespace {

constexpr size_t kMaxStringBytes = 4096;

// Length of the valid UTF-8 sequence at the start of `text`, or 0. Control characters are not valid in names.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first >= 0x20 && first < 0x7f) return 1;
  const size_t length = first >= 0xc2 && first < 0xe0   ? 2
                        : (first & 0xf0) == 0xe0        ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;                                          // Overlong.
  if (first == 0xed && byte(1) >= 0xa0) return 0;                                         // Surrogate.
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;  // Overlong, beyond U+10FFFF.
  return length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

RuntimeError SectionReader::Corrupt(const std::string& what) const {
  return {RuntimeCode::kDataLoss, std::string("decode ") + section_ + ": " + what + "; build the artifact again"};
}

RuntimeError SectionReader::CheckTableBytes(const char* what, uint32_t offset, uint32_t count, size_t row_bytes,
                                            uint32_t limit) const {
  if (count > limit) return Corrupt(FormatText("%u %s, at most %u allowed", count, what, limit));
  if (count == 0) return {};
  if (offset % 8 != 0) return Corrupt(FormatText("table of %s at offset %u is not 8-byte aligned", what, offset));
  if (offset + uint64_t{count} * row_bytes > bytes_.size()) {
    return Corrupt(FormatText("%u %s at offset %u pass the end at %zu", count, what, offset, bytes_.size()));
  }
  return {};
}

RuntimeResult<std::string> SectionReader::String(const char* what, uint32_t offset) const {
  if (offset >= bytes_.size())
    return Corrupt(FormatText("%s at offset %u is past the end at %zu", what, offset, bytes_.size()));
  const char* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
  const size_t room = std::min<size_t>(bytes_.size() - offset, kMaxStringBytes + 1);
  const void* end = std::memchr(begin, '\0', room);
  if (end == nullptr) return Corrupt(FormatText("%s at offset %u has no end within %zu bytes", what, offset, room));
  std::string text(begin, static_cast<const char*>(end));
  if (!IsUtf8(text)) return Corrupt(FormatText("%s at offset %u is not printable UTF-8", what, offset));
  return text;
}

}  // namespace lathe
