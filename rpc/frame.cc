#include "rpc/frame.h"

#include <fmt/format.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr bool IsBlob(uint16_t type) { return type == static_cast<uint16_t>(FrameType::kBlobChunk); }

template <typename T>
T ReadLittleEndian(const std::byte* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(bytes[i]) << (8 * i));
  return value;
}

template <typename T>
void AppendLittleEndian(T value, std::string& out) {
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

Status CheckHeader(uint64_t length, uint16_t type, uint32_t stream) {
  const uint64_t limit = IsBlob(type) ? kMaxBlobPayload : kMaxControlPayload;
  if (length > limit) {
    const char* hint = IsKnownFrameType(type) ? "" : "; it may be another port than the one for devices";
    return InvalidArgument(fmt::format(
        "frame of type {}: length {} bytes, at most {} are accepted; connection closed{}", type, length, limit, hint));
  }
  if (IsBlob(type) ? stream == 0 : (stream != 0 && IsKnownFrameType(type))) {
    return InvalidArgument(fmt::format("frame of type {}: stream {}, {} required; connection closed", type, stream,
                                       IsBlob(type) ? "a stream other than 0" : "stream 0"));
  }
  return OkStatus();
}

}  // namespace

bool IsKnownFrameType(uint16_t type) {
  return type >= static_cast<uint16_t>(FrameType::kHello) && type <= static_cast<uint16_t>(FrameType::kSigned);
}

StatusOr<FrameHeader> DecodeFrameHeader(std::span<const std::byte, kFrameHeaderSize> bytes) {
  const FrameHeader header{ReadLittleEndian<uint32_t>(&bytes[0]), ReadLittleEndian<uint16_t>(&bytes[4]),
                           ReadLittleEndian<uint32_t>(&bytes[8])};
  const auto flags = ReadLittleEndian<uint16_t>(&bytes[6]);
  if (flags != 0) {
    return InvalidArgument(
        fmt::format("frame of type {}: flags {:#x}, none are defined; connection closed", header.type, flags));
  }
  RETURN_IF_ERROR(CheckHeader(header.length, header.type, header.stream));
  return header;
}

Status AppendFrame(FrameType type, uint32_t stream, std::string_view payload, std::string& out) {
  RETURN_IF_ERROR(CheckHeader(payload.size(), static_cast<uint16_t>(type), stream));
  AppendLittleEndian(static_cast<uint32_t>(payload.size()), out);
  AppendLittleEndian(static_cast<uint16_t>(type), out);
  AppendLittleEndian(uint16_t{0}, out);
  AppendLittleEndian(stream, out);
  out.append(payload);
  return OkStatus();
}

void FrameDecoder::Feed(std::string_view bytes) {
  if (!failure_.ok()) return;
  if (begin_ == buffer_.size()) {
    buffer_.clear();
    begin_ = 0;
  } else if (begin_ > 4096 && begin_ > buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  buffer_.append(bytes);
}

StatusOr<std::optional<Frame>> FrameDecoder::Next() {
  if (!failure_.ok()) return failure_;
  const size_t held = buffer_.size() - begin_;
  if (held < kFrameHeaderSize) return std::optional<Frame>();
  const auto* start = reinterpret_cast<const std::byte*>(buffer_.data() + begin_);
  const StatusOr<FrameHeader> header =
      DecodeFrameHeader(std::span<const std::byte, kFrameHeaderSize>(start, kFrameHeaderSize));
  if (!header.ok()) {
    failure_ = header.status();
    buffer_ = {};
    begin_ = 0;
    return failure_;
  }
  if (held - kFrameHeaderSize < header->length) return std::optional<Frame>();
  Frame frame{header->type, header->stream, buffer_.substr(begin_ + kFrameHeaderSize, header->length)};
  begin_ += kFrameHeaderSize + header->length;
  return std::optional<Frame>(std::move(frame));
}

}  // namespace lathe
