#include "compiler/codegen/llvm/metadata.h"

#include <cstring>

#include "runtime/kernel_abi.h"

namespace lathe {
namespace {

// Tables first in one growing byte string; offsets are taken before the bytes behind them exist, so everything is
// patched by copy.
class SectionWriter {
 public:
  uint32_t Reserve(size_t bytes) {
    data_.resize((data_.size() + 7) / 8 * 8);
    const uint32_t offset = static_cast<uint32_t>(data_.size());
    data_.resize(data_.size() + bytes);
    return offset;
  }
  uint32_t AddString(std::string_view text) {
    const uint32_t offset = static_cast<uint32_t>(data_.size());
    data_.append(text.substr(0, text.find('\0')));
    data_.push_back('\0');
    return offset;
  }
  template <typename T>
  void Put(uint32_t offset, const T& value) {
    std::memcpy(data_.data() + offset, &value, sizeof(T));
  }
  std::string Finish() {
    data_.resize((data_.size() + 7) / 8 * 8);
    return std::move(data_);
  }
  size_t size() const { return (data_.size() + 7) / 8 * 8; }

 private:
  std::string data_;
};

LatheMetaDim DimOf(const Expr& extent, const std::vector<Var>& symbols) {
  if (const int64_t* value = AsIntConst(extent)) return {.value = *value, .kind = LATHE_DIM_CONSTANT, .reserved = 0};
  const auto at =
      std::find_if(symbols.begin(), symbols.end(), [&](const Var& symbol) { return symbol.same_as(extent); });
  CHECK(at != symbols.end()) << "extent is no symbol of its signature";
  return {.value = at - symbols.begin(), .kind = LATHE_DIM_SYMBOL, .reserved = 0};
}

LatheMetaParam WriteParam(const SignatureParam& param, const std::vector<Var>& symbols, SectionWriter& out) {
  const DataType dtype = param.buffer ? (*param.buffer)->dtype : param.scalar->dtype();
  LatheMetaParam row{};
  row.name_offset = out.AddString(param.name);
  row.kind = param.buffer ? LATHE_PARAM_BUFFER : LATHE_PARAM_SCALAR;
  row.flags = static_cast<uint8_t>((param.is_read ? LATHE_PARAM_READ : 0) | (param.is_written ? LATHE_PARAM_WRITE : 0) |
                                   (param.is_constant ? LATHE_PARAM_CONSTANT : 0));
  row.dtype_code = static_cast<uint8_t>(dtype.code);
  row.dtype_bits = dtype.bits;
  row.dtype_lanes = dtype.lanes;
  if (!param.buffer) {
    row.dims_offset = out.Reserve(0);
    return row;
  }
  const std::vector<Expr>& shape = (*param.buffer)->shape;
  row.rank = static_cast<uint16_t>(shape.size());
  row.dims_offset = out.Reserve(shape.size() * sizeof(LatheMetaDim));
  for (size_t i = 0; i < shape.size(); ++i)
    out.Put(row.dims_offset + static_cast<uint32_t>(i * sizeof(LatheMetaDim)), DimOf(shape[i], symbols));
  return row;
}

LatheMetaKernel WriteKernel(const KernelSignature& kernel, SectionWriter& out) {
  LatheMetaKernel row{};
  row.name_offset = out.AddString(kernel.name);
  row.symbol_offset = out.AddString(kernel.symbol);
  row.num_params = static_cast<uint32_t>(kernel.params.size());
  row.num_symbols = static_cast<uint32_t>(kernel.symbols.size());
  row.params_offset = out.Reserve(kernel.params.size() * sizeof(LatheMetaParam));
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const LatheMetaParam param = WriteParam(kernel.params[i], kernel.symbols, out);
    out.Put(row.params_offset + static_cast<uint32_t>(i * sizeof(LatheMetaParam)), param);
  }
  return row;
}

std::string JoinWithCommas(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace

std::string EncodeMetadata(std::span<const KernelSignature> kernels, const Target& target, uint32_t codegen_version) {
  SectionWriter out;
  LatheMetaHeader header{};
  const uint32_t header_offset = out.Reserve(sizeof(header));
  header.magic = LATHE_META_MAGIC;
  header.version = LATHE_META_VERSION;
  header.abi_version = LATHE_KERNEL_ABI_VERSION;
  header.codegen_version = codegen_version;
  header.num_kernels = static_cast<uint32_t>(kernels.size());
  header.kernels_offset = out.Reserve(kernels.size() * sizeof(LatheMetaKernel));
  header.target_offset = out.AddString(target.ToString());
  header.features_offset = out.AddString(JoinWithCommas(target.features()));
  for (size_t i = 0; i < kernels.size(); ++i) {
    const LatheMetaKernel row = WriteKernel(kernels[i], out);
    out.Put(header.kernels_offset + static_cast<uint32_t>(i * sizeof(LatheMetaKernel)), row);
  }
  header.total_bytes = static_cast<uint32_t>(out.size());
  out.Put(header_offset, header);
  return out.Finish();
}

}  // namespace lathe
