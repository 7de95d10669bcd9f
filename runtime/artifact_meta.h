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
#include "runtime/extent.h"

namespace lathe {

enum class ParamKind : uint8_t { kBuffer, kScalar, kPointer };  // A pointer is an address without shape.

struct ParamMeta {
  std::string name;
  ParamKind kind = ParamKind::kBuffer;
  bool is_read = false;
  bool is_written = false;
  bool is_constant = false;  // A weight: the same in every call.
  bool may_alias = false;    // May overlap other parameters that say so; those that do not overlap nothing.
  DType dtype;
  std::vector<Extent> dims;     // Outermost first; empty for scalars and pointers.
  std::vector<Extent> strides;  // In elements; empty: compact row-major.
  Extent offset;                // Of element 0 from the data pointer, in elements.
  uint32_t alignment = 64;      // Of the data pointer, in bytes.

  bool is_buffer() const { return kind == ParamKind::kBuffer; }
};

struct KernelMeta {
  std::string name;
  std::string symbol;
  std::vector<ParamMeta> params;
  std::vector<std::string> symbols;              // Names of what buffers tell: extents, strides, offsets.
  Extent workspace{LATHE_DIM_CONSTANT, -1, {}};  // Bytes of scratch memory of one call at most; -1: not known.

  uint32_t num_symbols() const { return static_cast<uint32_t>(symbols.size()); }
  // The shape of `param` with `symbols` and integer scalar arguments put in. Fails when an extent is negative or the
  // bytes overflow 2^47.
  RuntimeResult<std::vector<int64_t>> ShapeOf(const ParamMeta& param, std::span<const int64_t> symbols,
                                              std::span<const int64_t> scalars = {}) const;
};

// Code for a device: `bytes` bytes at `offset` of section `.lathe.device`.
struct DeviceImage {
  LatheImageKind kind = LATHE_IMAGE_CUBIN;
  std::string arch;  // "sm_90a"; empty where the kind says enough.
  uint64_t offset = 0, bytes = 0;
};
struct DeviceKernelMeta {
  std::string name;          // As LatheLaunch.kernel names it, and the entry point in the image.
  uint32_t first_image = 0;  // Alternatives: images [first_image, first_image + num_images), the best first.
  uint32_t num_images = 1;
  std::vector<uint32_t> arg_bytes;  // Size of each argument's value.
  uint32_t shared_bytes = 0;        // The largest dynamic shared memory of any launch.
  uint32_t max_threads = 0;         // The largest block of any launch; 0: not known.
};

struct ArtifactMeta {
  uint32_t abi_version = 0;
  uint32_t codegen_version = 0;
  std::string target;
  std::vector<std::string> features;  // CPU features that the code needs, by LLVM's names.
  std::vector<KernelMeta> kernels;
  std::vector<DeviceImage> images;
  std::vector<DeviceKernelMeta> device_kernels;

  // The threads that the code may use: -num-cores of `target`, 1 where that says nothing.
  int num_cores() const;
};

// Decodes a section. Reads layouts LATHE_META_OLDEST to LATHE_META_VERSION; refuses anything inconsistent
// or beyond the limits of the format page.
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
