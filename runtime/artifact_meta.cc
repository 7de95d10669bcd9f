#include "runtime/artifact_meta.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/kernel_abi.h"
#include "runtime/section_reader.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little,
              "artifacts are little-endian, and so is every host we run on");

constexpr uint32_t kMaxKernels = 4096, kMaxParams = 256, kMaxRank = 16, kMaxSymbols = 64;
constexpr uint64_t kMaxMetaBytes = 16u << 20;
constexpr int64_t kMaxTensorBytes = int64_t{1} << 47;

RuntimeError Corrupt(std::string what) {
  return {RuntimeCode::kDataLoss, "decode .lathe.meta: " + std::move(what) + "; build the artifact again"};
}

RuntimeResult<DimMeta> DecodeDim(const LatheMetaDim& dim, uint32_t num_symbols) {
  if (dim.kind == LATHE_DIM_CONSTANT) {
    if (dim.value < 0 || dim.value > kMaxTensorBytes) return Corrupt(FormatText("extent %lld", (long long)dim.value));
    return DimMeta{dim.value, false};
  }
  if (dim.kind != LATHE_DIM_SYMBOL) return Corrupt(FormatText("dimension kind %u, 0 or 1 required", dim.kind));
  if (dim.value < 0 || dim.value >= num_symbols) {
    return Corrupt(FormatText("symbol %lld of a kernel with %u symbols", (long long)dim.value, num_symbols));
  }
  return DimMeta{dim.value, true};
}

RuntimeResult<ParamMeta> DecodeParam(const SectionReader& reader, const LatheMetaParam& raw, uint32_t num_symbols) {
  ParamMeta param;
  RUNTIME_ASSIGN_OR_RETURN(param.name, reader.String("parameter name", raw.name_offset));
  if (raw.kind > LATHE_PARAM_SCALAR) return Corrupt(FormatText("parameter kind %u, 0 or 1 required", raw.kind));
  if ((raw.flags & ~7u) != 0) return Corrupt(FormatText("parameter flags 0x%x, at most 0x7 known", raw.flags));
  param.is_buffer = raw.kind == LATHE_PARAM_BUFFER;
  param.is_read = (raw.flags & LATHE_PARAM_READ) != 0;
  param.is_written = (raw.flags & LATHE_PARAM_WRITE) != 0;
  param.is_constant = (raw.flags & LATHE_PARAM_CONSTANT) != 0;
  if (param.is_constant && param.is_written) return Corrupt("parameter \"" + param.name + "\" is constant and written");
  param.dtype = DType{static_cast<DTypeCode>(raw.dtype_code), raw.dtype_bits, raw.dtype_lanes};
  if (!param.dtype.is_supported()) {
    return Corrupt(
        FormatText("dtype code %u bits %u lanes %u is not supported", raw.dtype_code, raw.dtype_bits, raw.dtype_lanes));
  }
  if (!param.is_buffer && (raw.rank != 0 || param.dtype.lanes != 1)) return Corrupt("a scalar has dimensions or lanes");
  RUNTIME_RETURN_IF_ERROR(reader.CheckTable<LatheMetaDim>("dimensions", raw.dims_offset, raw.rank, kMaxRank));
  for (uint32_t i = 0; i < raw.rank; ++i) {
    RUNTIME_ASSIGN_OR_RETURN(DimMeta dim, DecodeDim(reader.At<LatheMetaDim>(raw.dims_offset, i), num_symbols));
    param.dims.push_back(dim);
  }
  return param;
}

RuntimeResult<KernelMeta> DecodeKernel(const SectionReader& reader, const LatheMetaKernel& raw) {
  KernelMeta kernel;
  RUNTIME_ASSIGN_OR_RETURN(kernel.name, reader.String("kernel name", raw.name_offset));
  RUNTIME_ASSIGN_OR_RETURN(kernel.symbol, reader.String("kernel symbol", raw.symbol_offset));
  if (raw.num_symbols > kMaxSymbols)
    return Corrupt(FormatText("%u symbols, at most %u allowed", raw.num_symbols, kMaxSymbols));
  kernel.num_symbols = raw.num_symbols;
  RUNTIME_RETURN_IF_ERROR(
      reader.CheckTable<LatheMetaParam>("parameters", raw.params_offset, raw.num_params, kMaxParams));
  for (uint32_t i = 0; i < raw.num_params; ++i) {
    RUNTIME_ASSIGN_OR_RETURN(ParamMeta param,
                             DecodeParam(reader, reader.At<LatheMetaParam>(raw.params_offset, i), raw.num_symbols));
    kernel.params.push_back(std::move(param));
  }
  return kernel;
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

RuntimeResult<std::vector<int64_t>> KernelMeta::ShapeOf(const ParamMeta& param,
                                                        std::span<const int64_t> symbols) const {
  std::vector<int64_t> shape;
  for (const DimMeta& dim : param.dims) {
    if (dim.is_symbol && static_cast<size_t>(dim.value) >= symbols.size()) {
      return RuntimeError{RuntimeCode::kInvalidArgument,
                          FormatText("shape of \"%s\": %zu symbol values given, %u required", param.name.c_str(),
                                     symbols.size(), num_symbols)};
    }
    shape.push_back(dim.is_symbol ? symbols[dim.value] : dim.value);
  }
  const std::optional<int64_t> count = CountElements(shape);
  if (!count.has_value() || *count > kMaxTensorBytes / param.dtype.bytes()) {
    return RuntimeError{RuntimeCode::kInvalidArgument,
                        "shape of \"" + param.name + "\": an extent is negative or the size exceeds 2^47 bytes"};
  }
  return shape;
}

RuntimeResult<ArtifactMeta> DecodeArtifactMeta(std::span<const std::byte> section) {
  if (section.size() < sizeof(LatheMetaHeader)) {
    return Corrupt(FormatText("%zu bytes, a header has %zu", section.size(), sizeof(LatheMetaHeader)));
  }
  LatheMetaHeader header;
  std::memcpy(&header, section.data(), sizeof(header));
  if (header.magic != LATHE_META_MAGIC) return Corrupt(FormatText("magic 0x%llx", (unsigned long long)header.magic));
  if (header.version != LATHE_META_VERSION) {
    return RuntimeError{RuntimeCode::kFailedPrecondition,
                        FormatText("decode .lathe.meta: layout version %u, this program reads %d; use programs of one "
                                   "release",
                                   header.version, LATHE_META_VERSION)};
  }
  if (header.total_bytes < sizeof(header) || header.total_bytes > section.size()) {
    return Corrupt(FormatText("total_bytes %u, the section has %zu", header.total_bytes, section.size()));
  }
  const SectionReader reader(".lathe.meta", section.first(header.total_bytes));
  ArtifactMeta meta{.abi_version = header.abi_version, .codegen_version = header.codegen_version};
  RUNTIME_ASSIGN_OR_RETURN(meta.target, reader.String("target", header.target_offset));
  RUNTIME_ASSIGN_OR_RETURN(const std::string features, reader.String("features", header.features_offset));
  meta.features = SplitFeatures(features);
  RUNTIME_RETURN_IF_ERROR(
      reader.CheckTable<LatheMetaKernel>("kernels", header.kernels_offset, header.num_kernels, kMaxKernels));
  for (uint32_t i = 0; i < header.num_kernels; ++i) {
    RUNTIME_ASSIGN_OR_RETURN(KernelMeta kernel,
                             DecodeKernel(reader, reader.At<LatheMetaKernel>(header.kernels_offset, i)));
    meta.kernels.push_back(std::move(kernel));
  }
  return meta;
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
