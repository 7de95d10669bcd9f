#include "runtime/kernel_call.h"

namespace lathe {
namespace {

RuntimeError BadArgument(const KernelMeta& kernel, const std::string& what) {
  return {RuntimeCode::kInvalidArgument, "call " + kernel.name + ": " + what};
}

class SymbolBinder {
 public:
  explicit SymbolBinder(const KernelMeta& kernel) : kernel_(kernel), values_(kernel.num_symbols, -1) {}

  RuntimeError Bind(const ParamMeta& param, const TensorView& tensor) {
    const char* name = param.name.c_str();
    if (tensor.dtype != param.dtype) {
      return BadArgument(kernel_, FormatText("\"%s\" is %s, %s required", name, tensor.dtype.Name().c_str(),
                                             param.dtype.Name().c_str()));
    }
    if (tensor.shape.size() != param.dims.size()) {
      return BadArgument(
          kernel_, FormatText("\"%s\" has %zu dimensions, %zu required", name, tensor.shape.size(), param.dims.size()));
    }
    if (reinterpret_cast<uintptr_t>(tensor.data) % LATHE_BUFFER_ALIGNMENT != 0) {
      return BadArgument(kernel_, FormatText("\"%s\" is not aligned to %d bytes", name, LATHE_BUFFER_ALIGNMENT));
    }
    for (size_t i = 0; i < param.dims.size(); ++i) {
      const DimMeta& dim = param.dims[i];
      int64_t& known = dim.is_symbol ? values_[dim.value] : scratch_;
      if (!dim.is_symbol) known = dim.value;
      if (dim.is_symbol && known < 0) known = tensor.shape[i];
      if (tensor.shape[i] != known || known < 0) {
        return BadArgument(kernel_, FormatText("\"%s\" dimension %zu is %lld, %lld required", name, i,
                                               (long long)tensor.shape[i], (long long)known));
      }
    }
    return {};
  }

  RuntimeError AppendTo(std::vector<int64_t>& scalars) const {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] < 0) return BadArgument(kernel_, FormatText("no buffer tells symbol %zu", i));
      scalars.push_back(values_[i]);
    }
    return {};
  }

 private:
  const KernelMeta& kernel_;
  std::vector<int64_t> values_;  // -1: not known yet.
  int64_t scratch_ = 0;
};

}  // namespace

RuntimeResult<KernelArguments> BindArguments(const KernelMeta& kernel, std::span<const TensorView> buffers,
                                             std::span<const int64_t> scalars) {
  KernelArguments arguments;
  SymbolBinder symbols(kernel);
  size_t next_buffer = 0, next_scalar = 0;
  for (const ParamMeta& param : kernel.params) {
    if (!param.is_buffer) {
      if (next_scalar == scalars.size()) return BadArgument(kernel, "scalar \"" + param.name + "\" is not given");
      arguments.scalars.push_back(scalars[next_scalar++]);
      continue;
    }
    if (next_buffer == buffers.size()) return BadArgument(kernel, "buffer \"" + param.name + "\" is not given");
    RUNTIME_RETURN_IF_ERROR(symbols.Bind(param, buffers[next_buffer]));
    arguments.buffers.push_back(buffers[next_buffer++].data);
  }
  if (next_buffer != buffers.size() || next_scalar != scalars.size()) {
    return BadArgument(kernel, FormatText("%zu buffers and %zu scalars given, %zu and %zu required", buffers.size(),
                                          scalars.size(), next_buffer, next_scalar));
  }
  RUNTIME_RETURN_IF_ERROR(symbols.AppendTo(arguments.scalars));
  return arguments;
}

RuntimeError CallKernel(const Artifact::Kernel& kernel, const KernelArguments& arguments, KernelContext& context) {
  context.Clear();
  const int32_t error = kernel.function(context.get(), arguments.buffers.data(), arguments.scalars.data());
  if (error == LATHE_KERNEL_OK) return {};
  std::string said = context.failure();
  said = said.empty() ? "" : ": " + said;
  if (error == LATHE_KERNEL_NO_WORKSPACE || context.refused_workspace_bytes() > 0) {
    return {RuntimeCode::kResourceExhausted,
            FormatText("call %s: out of scratch memory, %llu bytes refused with %llu in use%s",
                       kernel.meta->name.c_str(), (unsigned long long)context.refused_workspace_bytes(),
                       (unsigned long long)context.workspace_bytes(), said.c_str())};
  }
  return {RuntimeCode::kInternal,
          FormatText("call %s: kernel returned error %d%s", kernel.meta->name.c_str(), error, said.c_str())};
}

}  // namespace lathe
