// What an artifact says about itself: section `.lathe.meta`, decoded (docs/formats/artifact.md).
//
// Pure: bytes in, values out. The bytes are hostile until decoded: every offset and count is checked before it is
// followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/dtype.h"
#include "runtime/error.h"

namespace lathe {

// One extent of a buffer: a number, or the value of symbol `value` at run time.
struct DimMeta {
  int64_t value = 0;
  bool is_symbol = false;
};

struct ParamMeta {
  std::string name;
  bool is_buffer = true;
  bool is_read = false;
  bool is_written = false;
  bool is_constant = false;  // A weight: the same in every call.
  DType dtype;
  std::vector<DimMeta> dims;  // Outermost first, compact row-major; empty for scalars.
};

struct KernelMeta {
  std::string name;
  std::string symbol;
  std::vector<ParamMeta> params;
  uint32_t num_symbols = 0;

  // The shape of `param` with `symbols` put in. `symbols` has num_symbols values >= 0. Fails when the bytes overflow
  // 2^47.
  RuntimeResult<std::vector<int64_t>> ShapeOf(const ParamMeta& param, std::span<const int64_t> symbols) const;
};

struct ArtifactMeta {
  uint32_t abi_version = 0;
  uint32_t codegen_version = 0;
  std::string target;
  std::vector<std::string> features;  // CPU features that the code needs, by LLVM's names.
  std::vector<KernelMeta> kernels;
};

// Decodes a section. Refuses anything inconsistent, of another layout version, or beyond the limits of the format page.
RuntimeResult<ArtifactMeta> DecodeArtifactMeta(std::span<const std::byte> section);

// The bytes of section `.lathe.meta` in `read(offset, size)`'s file of `file_bytes` bytes. Checks the ELF header:
// class, byte order, and that the machine is the one this code was built for.
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  virtual uint64_t size() const = 0;
  // Fills `out` from `offset`; false when the file is shorter or cannot be read.
  virtual bool Read(uint64_t offset, std::span<std::byte> out) const = 0;
};
RuntimeResult<std::vector<std::byte>> FindMetaSection(const FileBytes& file);
// The same for another section, of at most `limit_bytes`.
RuntimeResult<std::vector<std::byte>> FindArtifactSection(const FileBytes& file, const std::string& name,
                                                          uint64_t limit_bytes);

// Elements of a compact tensor; nullopt when an extent is negative or the product exceeds 2^47.
std::optional<int64_t> CountElements(std::span<const int64_t> shape);

}  // namespace lathe
