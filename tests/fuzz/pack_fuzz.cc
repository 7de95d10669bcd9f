// libFuzzer: any lines are a pack or an error, as they are and sealed with their digest; what was read writes and reads
// back.
#include "tuner/database/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ReadPack(text);
  const StatusOr<Pack> pack = ReadPack(SealPack(text));
  if (!pack.ok()) return 0;
  const std::string written = WritePack(*pack);
  const StatusOr<Pack> again = ReadPack(written);
  CHECK(again.ok()) << again.status().ToString() << "\n" << written;
  CHECK(WritePack(*again) == written) << written;
  return 0;
}
