// libFuzzer: any bytes, as a whole shared object and as each of the sections that Lathe reads by itself, decode or are
// refused.
#include <cstring>
#include <span>
#include <string>

#include "runtime/artifact_meta.h"
#include "runtime/graph.h"
#include "tests/runtime/memory_file.h"

namespace lathe {
namespace {

void DecodeMeta(std::span<const std::byte> section) {
  const RuntimeResult<ArtifactMeta> meta = DecodeArtifactMeta(section);
  if (!meta.ok()) return;
  for (const KernelMeta& kernel : meta->kernels) {
    const std::vector<int64_t> symbols(std::min<uint32_t>(kernel.num_symbols(), 1024), 3);
    if (symbols.size() != kernel.num_symbols()) __builtin_trap();  // More than the format's limit.
    for (const ParamMeta& param : kernel.params) (void)kernel.ShapeOf(param, symbols).ok();
  }
}

}  // namespace
}  // namespace lathe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  DecodeMeta(bytes);
  (void)DecodeGraph(bytes).ok();
  const MemoryFile file(bytes);
  if (const auto section = FindMetaSection(file); section.ok()) DecodeMeta(*section);
  if (const auto section = FindArtifactSection(file, ".lathe.graph", 1 << 20); section.ok())
    (void)DecodeGraph(*section).ok();
  return 0;
}
