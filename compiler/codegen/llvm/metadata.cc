#include "compiler/codegen/llvm/metadata.h"

#include <fmt/format.h>

#include "compiler/artifact/extent_writer.h"
#include "compiler/artifact/section_writer.h"
#include "runtime/kernel_abi.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr LatheMetaDim kNotKnown = {-1, LATHE_DIM_CONSTANT, 0};

uint8_t FlagsOf(const SignatureParam& param) {
  return static_cast<uint8_t>((param.is_read ? LATHE_PARAM_READ : 0) | (param.is_written ? LATHE_PARAM_WRITE : 0) |
                              (param.is_constant ? LATHE_PARAM_CONSTANT : 0) |
                              (param.may_alias ? LATHE_PARAM_ALIASES : 0) |
                              (param.buffer && !(*param.buffer)->strides.empty() ? LATHE_PARAM_STRIDED : 0));
}

class MetadataWriter {
 public:
  explicit MetadataWriter(uint32_t kernel_abi)
      : is_abi_1_(kernel_abi == 1),
        out_(sizeof(LatheMetaHeader) + (is_abi_1_ ? 0 : sizeof(LatheMetaTables))),
        header_{.magic = LATHE_META_MAGIC,
                .version = is_abi_1_ ? 1u : uint32_t{LATHE_META_VERSION},
                .abi_version = kernel_abi} {}

  StatusOr<std::string> Write(std::span<const KernelSignature> kernels, const Target& target,
                              const std::vector<std::string>& needed_features, uint32_t codegen_version) {
    header_.codegen_version = codegen_version;
    header_.target_offset = out_.String(target.ToString());
    header_.features_offset = out_.String(fmt::format("{}", fmt::join(needed_features, ",")));
    std::vector<LatheMetaKernel> rows;
    for (const KernelSignature& kernel : kernels) {
      ASSIGN_OR_RETURN(const LatheMetaKernel row, KernelRow(kernel));
      rows.push_back(row);
    }
    header_.num_kernels = static_cast<uint32_t>(rows.size());
    header_.kernels_offset = is_abi_1_ ? out_.Table(InLayout1(rows)) : out_.Table(rows);
    LatheMetaTables tables{};
    tables.num_terms = static_cast<uint32_t>(extents_.terms().size());
    tables.terms_offset = out_.Table(extents_.terms());
    header_.total_bytes = out_.size();
    return is_abi_1_ ? out_.Finish(header_) : out_.Finish(header_, tables);
  }

 private:
  StatusOr<LatheMetaKernel> KernelRow(const KernelSignature& kernel) {
    std::vector<Var> scalars;
    for (const SignatureParam& param : kernel.params)
      if (param.scalar) scalars.push_back(*param.scalar);
    extents_.Use(kernel.symbols, std::move(scalars));
    std::vector<LatheMetaParam> params;
    for (const SignatureParam& param : kernel.params) {
      StatusOr<LatheMetaParam> row = ParamRow(param);
      if (!row.ok())
        return row.status().WithContext(fmt::format("codegen @{} parameter \"{}\"", kernel.name, param.name));
      params.push_back(*row);
    }
    std::vector<uint32_t> symbols;
    for (const Var& symbol : kernel.symbols) symbols.push_back(is_abi_1_ ? 0 : out_.String(symbol.name()));
    LatheMetaKernel row{};
    row.name_offset = out_.String(kernel.name);
    row.symbol_offset = out_.String(kernel.symbol);
    row.num_params = static_cast<uint32_t>(params.size());
    row.params_offset = is_abi_1_ ? out_.Table(InLayout1(params)) : out_.Table(params);
    row.num_symbols = static_cast<uint32_t>(symbols.size());
    row.symbols_offset = out_.Table(symbols);
    row.workspace = kNotKnown;
    return row;
  }

  StatusOr<LatheMetaParam> ParamRow(const SignatureParam& param) {
    const DataType dtype = param.buffer ? (*param.buffer)->dtype : param.scalar ? param.scalar->dtype() : param.pointee;
    LatheMetaParam row{};
    row.name_offset = out_.String(param.name);
    row.kind = param.buffer ? LATHE_PARAM_BUFFER : param.scalar ? LATHE_PARAM_SCALAR : LATHE_PARAM_POINTER;
    row.flags = FlagsOf(param);
    row.dtype_code = static_cast<uint8_t>(dtype.code);
    row.dtype_bits = dtype.bits;
    row.dtype_lanes = dtype.lanes;
    row.alignment = param.scalar ? 1 : LATHE_BUFFER_ALIGNMENT;
    if (param.buffer) RETURN_IF_ERROR(PutPlace(**param.buffer, row));
    RETURN_IF_ERROR(CheckAbi(row));
    return row;
  }

  Status PutPlace(const BufferNode& buffer, LatheMetaParam& row) {
    if (buffer.shape.size() > LATHE_META_MAX_RANK)
      return InvalidArgument(
          fmt::format("parameter \"{}\" has {} dimensions, at most {} can be passed to a kernel; merge some of them",
                      buffer.name, buffer.shape.size(), LATHE_META_MAX_RANK));
    row.rank = static_cast<uint16_t>(buffer.shape.size());
    ASSIGN_OR_RETURN(const std::vector<LatheMetaDim> dims, extents_.Write(buffer.shape, "extent"));
    ASSIGN_OR_RETURN(const std::vector<LatheMetaDim> strides, extents_.Write(buffer.strides, "stride"));
    ASSIGN_OR_RETURN(row.offset, extents_.Write(buffer.elem_offset, "offset"));
    has_programs_ = !extents_.terms().empty();
    row.dims_offset = out_.Table(dims);
    if (!strides.empty()) row.strides_offset = out_.Table(strides);
    return OkStatus();
  }

  Status CheckAbi(const LatheMetaParam& row) const {
    if (!is_abi_1_) return OkStatus();
    const bool is_compact = (row.flags & (LATHE_PARAM_STRIDED | LATHE_PARAM_ALIASES)) == 0 && row.offset.value == 0 &&
                            row.offset.kind == LATHE_DIM_CONSTANT && row.kind != LATHE_PARAM_POINTER;
    if (is_compact && !has_programs_) return OkStatus();
    return FailedPrecondition(
        "kernel ABI 1 knows compact tensors whose extents are numbers or variables, this one needs ABI 2; upgrade the "
        "device that is to run it");
  }

  static std::vector<LatheMetaParamV1> InLayout1(const std::vector<LatheMetaParam>& params) {
    std::vector<LatheMetaParamV1> rows;
    for (const LatheMetaParam& row : params)
      rows.push_back({row.name_offset, row.kind, row.flags, row.dtype_code, row.dtype_bits, row.dtype_lanes, row.rank,
                      row.dims_offset});
    return rows;
  }
  static std::vector<LatheMetaKernelV1> InLayout1(const std::vector<LatheMetaKernel>& kernels) {
    std::vector<LatheMetaKernelV1> rows;
    for (const LatheMetaKernel& row : kernels)
      rows.push_back({row.name_offset, row.symbol_offset, row.num_params, row.params_offset, row.num_symbols, 0});
    return rows;
  }

  const bool is_abi_1_;
  SectionWriter out_;
  LatheMetaHeader header_;
  ExtentWriter extents_;
  bool has_programs_ = false;
};

}  // namespace

StatusOr<std::string> EncodeMetadata(std::span<const KernelSignature> kernels, const Target& target,
                                     const std::vector<std::string>& needed_features, uint32_t codegen_version,
                                     uint32_t kernel_abi) {
  if (kernel_abi < LATHE_KERNEL_ABI_OLDEST || kernel_abi > LATHE_KERNEL_ABI_VERSION)
    return FailedPrecondition(
        fmt::format("codegen: kernel ABI {} is asked for, this builder emits {} to {}; use "
                    "programs of releases that follow each other",
                    kernel_abi, LATHE_KERNEL_ABI_OLDEST, LATHE_KERNEL_ABI_VERSION));
  return MetadataWriter(kernel_abi).Write(kernels, target, needed_features, codegen_version);
}

}  // namespace lathe
