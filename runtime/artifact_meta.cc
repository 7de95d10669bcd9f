#include "runtime/artifact_meta.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "runtime/kernel_abi.h"
#include "runtime/section_reader.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little,
              "artifacts are little-endian, and so is every host we run on");

constexpr uint32_t kMaxKernels = 4096, kMaxParams = 256, kMaxSymbols = 64, kMaxTerms = 1 << 20;
constexpr uint32_t kMaxImages = 256, kMaxDeviceKernels = 4096, kMaxDeviceArgs = 256, kMaxAlignment = 1 << 20;
constexpr uint64_t kMaxMetaBytes = 16u << 20, kMaxDeviceBytes = uint64_t{1} << 32;
constexpr int64_t kMaxTensorBytes = int64_t{1} << 47;

RuntimeError Corrupt(std::string what) {
  return {RuntimeCode::kDataLoss, "decode .lathe.meta: " + std::move(what) + "; build the artifact again"};
}

std::vector<std::string> SplitFeatures(std::string_view text) {
  std::vector<std::string> features;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) features.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return features;
}

// The rows of layout 1 in the form of layout 2.
LatheMetaParam Upgrade(const LatheMetaParamV1& old) {
  LatheMetaParam row{};
  row.name_offset = old.name_offset;
  row.kind = old.kind;
  row.flags = old.flags;
  row.dtype_code = old.dtype_code;
  row.dtype_bits = old.dtype_bits;
  row.dtype_lanes = old.dtype_lanes;
  row.rank = old.rank;
  row.dims_offset = old.dims_offset;
  row.alignment = LATHE_BUFFER_ALIGNMENT;
  return row;
}
LatheMetaKernel Upgrade(const LatheMetaKernelV1& old) {
  return {old.name_offset,
          old.symbol_offset,
          old.num_params,
          old.params_offset,
          old.num_symbols,
          0,
          {-1, LATHE_DIM_CONSTANT, 0}};
}

class MetaDecoder {
 public:
  MetaDecoder(const SectionReader& reader, const LatheMetaHeader& header)
      : reader_(reader), header_(header), is_layout_1_(header.version == 1) {}

  RuntimeResult<ArtifactMeta> Decode() {
    ArtifactMeta meta{.abi_version = header_.abi_version, .codegen_version = header_.codegen_version};
    RUNTIME_RETURN_IF_ERROR(DecodeTables());
    RUNTIME_ASSIGN_OR_RETURN(meta.target, reader_.String("target", header_.target_offset));
    RUNTIME_ASSIGN_OR_RETURN(const std::string features, reader_.String("features", header_.features_offset));
    meta.features = SplitFeatures(features);
    RUNTIME_RETURN_IF_ERROR((CheckRows<LatheMetaKernel, LatheMetaKernelV1>("kernels", header_.kernels_offset,
                                                                           header_.num_kernels, kMaxKernels)));
    for (uint32_t i = 0; i < header_.num_kernels; ++i) {
      const auto row = Row<LatheMetaKernel, LatheMetaKernelV1>(header_.kernels_offset, i);
      RUNTIME_ASSIGN_OR_RETURN(KernelMeta kernel, DecodeKernel(row));
      meta.kernels.push_back(std::move(kernel));
    }
    RUNTIME_RETURN_IF_ERROR(DecodeImages(meta.images));
    RUNTIME_RETURN_IF_ERROR(DecodeDeviceKernels(meta));
    return meta;
  }

 private:
  template <typename New, typename Old>
  RuntimeError CheckRows(const char* what, uint32_t offset, uint32_t count, uint32_t limit) const {
    return is_layout_1_ ? reader_.CheckTable<Old>(what, offset, count, limit)
                        : reader_.CheckTable<New>(what, offset, count, limit);
  }
  template <typename New, typename Old>
  New Row(uint32_t offset, uint32_t index) const {
    return is_layout_1_ ? Upgrade(reader_.At<Old>(offset, index)) : reader_.At<New>(offset, index);
  }

  RuntimeError DecodeTables() {
    if (is_layout_1_) return {};
    if (header_.total_bytes < sizeof(LatheMetaHeader) + sizeof(LatheMetaTables))
      return Corrupt(FormatText("%u bytes have no room for the tables of layout 2", header_.total_bytes));
    std::memcpy(&tables_, reader_.data() + sizeof(LatheMetaHeader), sizeof(tables_));
    return reader_.CheckTable<LatheMetaTerm>("terms", tables_.terms_offset, tables_.num_terms, kMaxTerms);
  }

  RuntimeResult<std::vector<Extent>> DecodeExtents(uint32_t offset, uint32_t count, int64_t least) const {
    std::vector<Extent> extents;
    for (uint32_t i = 0; i < count; ++i) {
      RUNTIME_ASSIGN_OR_RETURN(Extent extent,
                               DecodeExtent(reader_, reader_.At<LatheMetaDim>(offset, i), scope_, least));
      extents.push_back(std::move(extent));
    }
    return extents;
  }

  RuntimeError DecodeFlags(const LatheMetaParam& raw, ParamMeta& param) const {
    const uint8_t known = is_layout_1_ ? 7 : 31;
    if ((raw.flags & ~known) != 0)
      return Corrupt(FormatText("parameter flags 0x%x, at most 0x%x known", raw.flags, known));
    param.is_read = (raw.flags & LATHE_PARAM_READ) != 0;
    param.is_written = (raw.flags & LATHE_PARAM_WRITE) != 0;
    param.is_constant = (raw.flags & LATHE_PARAM_CONSTANT) != 0;
    param.may_alias = (raw.flags & LATHE_PARAM_ALIASES) != 0;
    if (param.is_constant && param.is_written)
      return Corrupt("parameter \"" + param.name + "\" is constant and written");
    return {};
  }

  RuntimeError DecodePlace(const LatheMetaParam& raw, ParamMeta& param) const {
    param.alignment = raw.alignment;
    if (!std::has_single_bit(raw.alignment) || raw.alignment > kMaxAlignment)
      return Corrupt(FormatText("alignment %u is no power of two up to %u", raw.alignment, kMaxAlignment));
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheMetaDim>("dimensions", raw.dims_offset, raw.rank, LATHE_META_MAX_RANK));
    RUNTIME_ASSIGN_OR_RETURN(param.dims, DecodeExtents(raw.dims_offset, raw.rank, 0));
    RUNTIME_ASSIGN_OR_RETURN(param.offset, DecodeExtent(reader_, raw.offset, scope_, 0));
    if ((raw.flags & LATHE_PARAM_STRIDED) == 0) return {};
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheMetaDim>("strides", raw.strides_offset, raw.rank, LATHE_META_MAX_RANK));
    RUNTIME_ASSIGN_OR_RETURN(param.strides, DecodeExtents(raw.strides_offset, raw.rank, 0));
    return {};
  }

  RuntimeResult<ParamMeta> DecodeParam(const LatheMetaParam& raw) const {
    ParamMeta param;
    RUNTIME_ASSIGN_OR_RETURN(param.name, reader_.String("parameter name", raw.name_offset));
    const uint8_t last_kind = is_layout_1_ ? LATHE_PARAM_SCALAR : LATHE_PARAM_POINTER;
    if (raw.kind > last_kind) return Corrupt(FormatText("parameter kind %u, at most %u known", raw.kind, last_kind));
    param.kind = static_cast<ParamKind>(raw.kind);
    RUNTIME_RETURN_IF_ERROR(DecodeFlags(raw, param));
    param.dtype = DType{static_cast<DTypeCode>(raw.dtype_code), raw.dtype_bits, raw.dtype_lanes};
    if (!param.dtype.is_supported()) {
      return Corrupt(FormatText("dtype code %u bits %u lanes %u is not supported", raw.dtype_code, raw.dtype_bits,
                                raw.dtype_lanes));
    }
    const bool has_shape = raw.rank != 0 || (raw.flags & LATHE_PARAM_STRIDED) != 0;
    if (param.kind == ParamKind::kScalar && (has_shape || param.dtype.lanes != 1))
      return Corrupt("a scalar has dimensions or lanes");
    if (param.kind == ParamKind::kPointer && has_shape) return Corrupt("a pointer has dimensions");
    RUNTIME_RETURN_IF_ERROR(DecodePlace(raw, param));
    return param;
  }

  RuntimeError DecodeSymbols(const LatheMetaKernel& raw, KernelMeta& kernel) const {
    if (raw.num_symbols > kMaxSymbols)
      return Corrupt(FormatText("%u symbols, at most %u allowed", raw.num_symbols, kMaxSymbols));
    if (!is_layout_1_)
      RUNTIME_RETURN_IF_ERROR(
          reader_.CheckTable<uint32_t>("symbols", raw.symbols_offset, raw.num_symbols, kMaxSymbols));
    for (uint32_t i = 0; i < raw.num_symbols; ++i) {
      kernel.symbols.push_back("s" + std::to_string(i));
      if (is_layout_1_) continue;  // Its symbols have no names.
      RUNTIME_ASSIGN_OR_RETURN(kernel.symbols.back(),
                               reader_.String("symbol name", reader_.At<uint32_t>(raw.symbols_offset, i)));
    }
    return {};
  }

  RuntimeResult<KernelMeta> DecodeKernel(const LatheMetaKernel& raw) {
    KernelMeta kernel;
    RUNTIME_ASSIGN_OR_RETURN(kernel.name, reader_.String("kernel name", raw.name_offset));
    RUNTIME_ASSIGN_OR_RETURN(kernel.symbol, reader_.String("kernel symbol", raw.symbol_offset));
    RUNTIME_RETURN_IF_ERROR(DecodeSymbols(raw, kernel));
    RUNTIME_RETURN_IF_ERROR(
        (CheckRows<LatheMetaParam, LatheMetaParamV1>("parameters", raw.params_offset, raw.num_params, kMaxParams)));
    const auto row = [&](uint32_t i) { return Row<LatheMetaParam, LatheMetaParamV1>(raw.params_offset, i); };
    scope_ = {tables_.num_terms, tables_.terms_offset, raw.num_symbols, 0, !is_layout_1_};
    for (uint32_t i = 0; i < raw.num_params; ++i) scope_.num_scalars += row(i).kind == LATHE_PARAM_SCALAR;
    for (uint32_t i = 0; i < raw.num_params; ++i) {
      RUNTIME_ASSIGN_OR_RETURN(ParamMeta param, DecodeParam(row(i)));
      kernel.params.push_back(std::move(param));
    }
    RUNTIME_ASSIGN_OR_RETURN(kernel.workspace, DecodeExtent(reader_, raw.workspace, scope_, -1));
    return kernel;
  }

  RuntimeError DecodeImages(std::vector<DeviceImage>& images) const {
    RUNTIME_RETURN_IF_ERROR(
        reader_.CheckTable<LatheMetaImage>("device images", tables_.images_offset, tables_.num_images, kMaxImages));
    for (uint32_t i = 0; i < tables_.num_images; ++i) {
      const auto raw = reader_.At<LatheMetaImage>(tables_.images_offset, i);
      if (raw.kind > LATHE_IMAGE_SPIRV) return Corrupt(FormatText("image kind %u, at most 4 known", raw.kind));
      if (raw.offset > kMaxDeviceBytes || raw.bytes > kMaxDeviceBytes)
        return Corrupt("a device image lies beyond 2^32 bytes");
      DeviceImage image{static_cast<LatheImageKind>(raw.kind), "", raw.offset, raw.bytes};
      RUNTIME_ASSIGN_OR_RETURN(image.arch, reader_.String("image architecture", raw.arch_offset));
      images.push_back(std::move(image));
    }
    return {};
  }

  RuntimeError DecodeDeviceKernels(ArtifactMeta& meta) const {
    RUNTIME_RETURN_IF_ERROR(reader_.CheckTable<LatheMetaDeviceKernel>("device kernels", tables_.device_kernels_offset,
                                                                      tables_.num_device_kernels, kMaxDeviceKernels));
    for (uint32_t i = 0; i < tables_.num_device_kernels; ++i) {
      const auto raw = reader_.At<LatheMetaDeviceKernel>(tables_.device_kernels_offset, i);
      const size_t images = meta.images.size();
      if (raw.num_images == 0 || raw.image > images || raw.num_images > images - raw.image)
        return Corrupt(FormatText("a device kernel in images %u to %u of %zu", raw.image, raw.num_images, images));
      RUNTIME_RETURN_IF_ERROR(
          reader_.CheckTable<uint32_t>("device kernel arguments", raw.args_offset, raw.num_args, kMaxDeviceArgs));
      DeviceKernelMeta kernel{"", raw.image, raw.num_images, {}, raw.shared_bytes, raw.max_threads};
      RUNTIME_ASSIGN_OR_RETURN(kernel.name, reader_.String("device kernel name", raw.name_offset));
      for (uint32_t arg = 0; arg < raw.num_args; ++arg)
        kernel.arg_bytes.push_back(reader_.At<uint32_t>(raw.args_offset, arg));
      meta.device_kernels.push_back(std::move(kernel));
    }
    return {};
  }

  const SectionReader& reader_;
  const LatheMetaHeader& header_;
  const bool is_layout_1_;
  LatheMetaTables tables_{};
  ExtentScope scope_;  // Of the kernel that is being decoded.
};

#if defined(__x86_64__)
constexpr uint16_t kHostMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kHostMachine = EM_AARCH64;
#elif defined(__arm__)
constexpr uint16_t kHostMachine = EM_ARM;
#elif defined(__riscv)
constexpr uint16_t kHostMachine = EM_RISCV;
#endif

std::string MachineName(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    default:
      return FormatText("ELF machine %u", machine);
  }
}

template <typename T>
bool ReadAt(const FileBytes& file, uint64_t offset, T& value) {
  return file.Read(offset, std::as_writable_bytes(std::span<T>(&value, 1)));
}

template <typename Ehdr, typename Shdr>
RuntimeResult<std::vector<std::byte>> FindSection(const FileBytes& file, const std::string& wanted,
                                                  uint64_t limit_bytes) {
  const RuntimeError truncated{RuntimeCode::kDataLoss, "read artifact: ELF section table passes the end of the file"};
  Ehdr header;
  if (!ReadAt(file, 0, header)) return truncated;
  if (header.e_machine != kHostMachine) {
    return RuntimeError{RuntimeCode::kFailedPrecondition, "load artifact: built for " + MachineName(header.e_machine) +
                                                              ", this machine is " + MachineName(kHostMachine) +
                                                              "; build for this device's target"};
  }
  if (header.e_shentsize != sizeof(Shdr) || header.e_shstrndx >= header.e_shnum) return truncated;
  const auto section = [&](uint64_t index, Shdr& out) {
    const uint64_t size = file.size();
    return header.e_shoff < size && ReadAt(file, header.e_shoff + index * sizeof(Shdr), out) &&
           (out.sh_type == SHT_NOBITS || (out.sh_offset <= size && out.sh_size <= size - out.sh_offset));
  };
  const std::string_view terminated(wanted.c_str(), wanted.size() + 1);
  Shdr names;
  if (!section(header.e_shstrndx, names)) return truncated;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Shdr candidate;
    std::string name(terminated.size(), '\0');
    if (!section(i, candidate)) return truncated;
    if (candidate.sh_name >= names.sh_size || names.sh_size - candidate.sh_name < name.size()) continue;
    if (!file.Read(names.sh_offset + candidate.sh_name, std::as_writable_bytes(std::span(name)))) return truncated;
    if (name != terminated) continue;
    if (candidate.sh_type == SHT_NOBITS || candidate.sh_size > limit_bytes) {
      return RuntimeError{RuntimeCode::kDataLoss,
                          FormatText("read artifact: section %s of %llu bytes; build the artifact again",
                                     wanted.c_str(), (unsigned long long)candidate.sh_size)};
    }
    std::vector<std::byte> bytes(candidate.sh_size);
    if (!file.Read(candidate.sh_offset, bytes)) return truncated;
    return bytes;
  }
  return RuntimeError{RuntimeCode::kInvalidArgument,
                      "load artifact: no section " + wanted + "; give a shared object made by `lathe compile`"};
}

}  // namespace

std::optional<int64_t> CountElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMaxTensorBytes) return std::nullopt;
  }
  return count;
}

RuntimeResult<std::vector<int64_t>> KernelMeta::ShapeOf(const ParamMeta& param, std::span<const int64_t> symbol_values,
                                                        std::span<const int64_t> scalars) const {
  std::vector<int64_t> shape;
  for (const Extent& dim : param.dims) {
    const RuntimeResult<int64_t> extent = EvaluateExtent(dim, symbol_values, scalars);
    if (!extent.ok())
      return RuntimeError{extent.error().code, "shape of \"" + param.name + "\": " + extent.error().message};
    shape.push_back(*extent);
  }
  const std::optional<int64_t> count = CountElements(shape);
  if (!count.has_value() || *count > kMaxTensorBytes / param.dtype.bytes()) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "shape of \"" + param.name + "\": an extent is negative or the size exceeds 2^47 bytes"};
  }
  return shape;
}

int ArtifactMeta::num_cores() const {
  constexpr std::string_view kOption = "-num-cores=";  // docs/formats/target.md
  const size_t at = target.find(kOption);
  return at == std::string::npos ? 1 : std::max(std::atoi(target.c_str() + at + kOption.size()), 1);
}

RuntimeResult<ArtifactMeta> DecodeArtifactMeta(std::span<const std::byte> section) {
  if (section.size() < sizeof(LatheMetaHeader)) {
    return Corrupt(FormatText("%zu bytes, a header has %zu", section.size(), sizeof(LatheMetaHeader)));
  }
  LatheMetaHeader header;
  std::memcpy(&header, section.data(), sizeof(header));
  if (header.magic != LATHE_META_MAGIC) return Corrupt(FormatText("magic 0x%llx", (unsigned long long)header.magic));
  if (header.version < LATHE_META_OLDEST || header.version > LATHE_META_VERSION) {
    return RuntimeError{RuntimeCode::kFailedPrecondition,
                        FormatText("decode .lathe.meta: layout version %u, this program reads %d to %d; build the "
                                   "artifact again with this release",
                                   header.version, LATHE_META_OLDEST, LATHE_META_VERSION)};
  }
  if (header.total_bytes < sizeof(header) || header.total_bytes > section.size()) {
    return Corrupt(FormatText("total_bytes %u, the section has %zu", header.total_bytes, section.size()));
  }
  const SectionReader reader(".lathe.meta", section.first(header.total_bytes));
  return MetaDecoder(reader, header).Decode();
}

RuntimeResult<std::vector<std::byte>> FindArtifactSection(const FileBytes& file, const std::string& name,
                                                          uint64_t limit_bytes) {
  std::array<unsigned char, EI_NIDENT> ident;
  if (!ReadAt(file, 0, ident) || std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "load artifact: not an ELF file; give a shared object made by `lathe compile`"};
  }
  if (ident[EI_DATA] != ELFDATA2LSB)
    return RuntimeError{RuntimeCode::kInvalidArgument, "load artifact: big-endian ELF file, little-endian required"};
  if (ident[EI_CLASS] == ELFCLASS64) return FindSection<Elf64_Ehdr, Elf64_Shdr>(file, name, limit_bytes);
  if (ident[EI_CLASS] == ELFCLASS32) return FindSection<Elf32_Ehdr, Elf32_Shdr>(file, name, limit_bytes);
  return RuntimeError{RuntimeCode::kInvalidArgument,
                      FormatText("load artifact: ELF class %u, 1 or 2 required", ident[EI_CLASS])};
}

RuntimeResult<std::vector<std::byte>> FindMetaSection(const FileBytes& file) {
  return FindArtifactSection(file, ".lathe.meta", kMaxMetaBytes);
}

}  // namespace lathe
