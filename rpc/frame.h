// u32 length | u16 type | u16 flags | u32 stream, little-endian, then the message (docs/formats/frame.md).
// Pure: bytes in, frames out. The same code serves TCP, a socket pair, the tests and the fuzzer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/status.h"

namespace lathe {

enum class FrameType : uint16_t {
  kHello = 1,
  kWelcome = 2,
  kDesired = 3,
  kCurrent = 4,
  kNeedBlobs = 5,
  kBlobChunk = 6,
  kBlobCredit = 7,
  kBlobUnavailable = 8,
  kMeasureResult = 9,
  kResultAck = 10,
  kUnsupported = 11,
  kVersionMismatch = 12,
  kRefused = 13,
  kJoin = 14,
  kRenew = 15,
  kSigned = 16,
};
bool IsKnownFrameType(uint16_t type);

inline constexpr size_t kFrameHeaderSize = 12;
inline constexpr uint32_t kMaxControlPayload = 1 << 20;
inline constexpr uint32_t kMaxBlobData = 64 << 10;
inline constexpr uint32_t kMaxBlobPayload = kMaxBlobData + 256;  // The chunk's digest, offset and tags.

struct FrameHeader {
  uint32_t length = 0;
  uint16_t type = 0;  // A FrameType, or one that this build does not know.
  uint32_t stream = 0;
  bool operator==(const FrameHeader&) const = default;
};

struct Frame {
  uint16_t type = 0;
  uint32_t stream = 0;
  std::string payload;
  bool operator==(const Frame&) const = default;
};

// Checks flags, stream and length; a failure means that the connection is of no more use.
StatusOr<FrameHeader> DecodeFrameHeader(std::span<const std::byte, kFrameHeaderSize> bytes);

// Appends header and payload to `out`. InvalidArgument if the frame would not be accepted by DecodeFrameHeader.
Status AppendFrame(FrameType type, uint32_t stream, std::string_view payload, std::string& out);

// Cuts a stream of bytes into frames. Holds at most one unfinished frame. Not thread-safe.
class FrameDecoder {
 public:
  // Takes all of `bytes`; frames come out of Next(). Memory grows only for payloads whose header was accepted.
  void Feed(std::string_view bytes);
  // The next whole frame; nullopt when more bytes are needed. After a failure, the same failure for ever.
  StatusOr<std::optional<Frame>> Next();

 private:
  Status failure_;
  std::string buffer_;  // Bytes not yet handed out, from begin_ on.
  size_t begin_ = 0;
};

}  // namespace lathe
