// Any stream: what a builder may have sent, and what it may be sent, is cut into messages that decode, or ends cleanly.
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/builder/build_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  std::string stream(reinterpret_cast<const char*>(data), size);
  for (;;) {
    const StatusOr<std::optional<BuilderMessage>> message = TakeMessage(stream);
    if (!message.ok() || !message->has_value()) return 0;
  }
}
