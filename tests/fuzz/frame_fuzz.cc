// Any bytes, in any pieces: the decoder neither crashes nor keeps more than one frame, and what it accepts decodes or
// fails cleanly.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rpc/device_message.h"
#include "rpc/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  if (size == 0) return 0;
  const size_t piece = data[0] % 31 + 1;  // The first byte decides how the rest is cut.
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  FrameDecoder decoder;
  while (!rest.empty()) {
    decoder.Feed(rest.substr(0, piece));
    rest.remove_prefix(std::min(piece, rest.size()));
    while (true) {
      const StatusOr<std::optional<Frame>> frame = decoder.Next();
      if (!frame.ok()) return 0;
      if (!frame->has_value()) break;
      const StatusOr<DeviceMessage> message = DecodeDeviceMessage(**frame);
      if (!message.ok()) continue;
      if (const auto* desired = std::get_if<v1::Desired>(&*message)) (void)CheckDesired(*desired).ok();
      if (const auto* result = std::get_if<v1::MeasureResult>(&*message)) (void)CheckMeasureResult(*result).ok();
    }
  }
  return 0;
}
