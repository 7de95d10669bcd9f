#include "runtime/kernel_call.h"

namespace lathe {
namespace {

RuntimeError BadArgument(const KernelMeta& kernel, const std::string& what) {
  return {RuntimeCode::kInvalidArgument, "call " + kernel.name + ": " + what};
}

std::vector<int64_t> StridesOf(const TensorView& tensor) {
  if (!tensor.strides.empty()) return {tensor.strides.begin(), tensor.strides.end()};
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) {
    if (__builtin_mul_overflow(strides[i], tensor.shape[i], &strides[i - 1])) strides[i - 1] = INT64_MAX;
  }
  return strides;
}

// Whether elements that a kernel takes for compact lie so. A stride along one element says nothing.
bool IsCompact(const TensorView& tensor) {
  if (tensor.strides.empty()) return true;
  const std::vector<int64_t> compact = StridesOf({tensor.data, tensor.dtype, tensor.shape});
  for (size_t i = 0; i < compact.size(); ++i)
    if (tensor.shape[i] != 1 && tensor.strides[i] != compact[i]) return false;
  return true;
}

// First every symbol is learnt from where it stands alone, then every extent, stride and offset is compared.
class ArgumentBinder {
 public:
  ArgumentBinder(const KernelMeta& kernel, std::span<const int64_t> scalars)
      : kernel_(kernel), scalars_(scalars), values_(kernel.num_symbols()), known_(kernel.num_symbols()) {}

  RuntimeError Learn(const ParamMeta& param, const TensorView& tensor) {
    if (!param.is_buffer()) return {};
    RUNTIME_RETURN_IF_ERROR(CheckForm(param, tensor));
    const std::vector<int64_t> strides = StridesOf(tensor);
    for (size_t i = 0; i < param.dims.size(); ++i) LearnFrom(param.dims[i], tensor.shape[i]);
    for (size_t i = 0; i < param.strides.size(); ++i) LearnFrom(param.strides[i], strides[i]);
    LearnFrom(param.offset, tensor.elem_offset);
    return {};
  }

  RuntimeError CheckAllKnown() const {
    for (size_t i = 0; i < known_.size(); ++i)
      if (!known_[i]) return BadArgument(kernel_, "no buffer tells symbol \"" + kernel_.symbols[i] + "\"");
    return {};
  }

  // The pointer that the kernel is given.
  RuntimeResult<void*> Check(const ParamMeta& param, const TensorView& tensor) const {
    int64_t wanted_offset = 0;
    if (param.is_buffer()) {
      RUNTIME_RETURN_IF_ERROR(CheckList(param, "dimension", param.dims, tensor.shape, {}));
      RUNTIME_RETURN_IF_ERROR(CheckList(param, "stride", param.strides, StridesOf(tensor), tensor.shape));
      RUNTIME_ASSIGN_OR_RETURN(wanted_offset, ValueOf(param, param.offset));
    }
    int64_t shift = 0;
    if (__builtin_sub_overflow(tensor.elem_offset, wanted_offset, &shift) ||
        __builtin_mul_overflow(shift, int64_t{param.dtype.bytes()}, &shift) || shift < 0) {
      return BadArgument(
          kernel_, FormatText("\"%s\" begins at element %lld of its memory, %lld or later required", param.name.c_str(),
                              (long long)tensor.elem_offset, (long long)wanted_offset));
    }
    // Of memory that comes with each call, at address 0, it is the shift: an integer, not a place in an object.
    const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data) + static_cast<uintptr_t>(shift);
    if (address % param.alignment != 0)
      return BadArgument(kernel_, FormatText("\"%s\" is not aligned to %u bytes", param.name.c_str(), param.alignment));
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  std::span<const int64_t> symbols() const { return values_; }

 private:
  RuntimeError CheckForm(const ParamMeta& param, const TensorView& tensor) const {
    const char* name = param.name.c_str();
    if (tensor.dtype != param.dtype) {
      return BadArgument(kernel_, FormatText("\"%s\" is %s, %s required", name, tensor.dtype.Name().c_str(),
                                             param.dtype.Name().c_str()));
    }
    if (tensor.shape.size() != param.dims.size()) {
      return BadArgument(
          kernel_, FormatText("\"%s\" has %zu dimensions, %zu required", name, tensor.shape.size(), param.dims.size()));
    }
    if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size()) {
      return BadArgument(kernel_, FormatText("\"%s\" has %zu strides for %zu dimensions", name, tensor.strides.size(),
                                             tensor.shape.size()));
    }
    if (param.strides.empty() && !IsCompact(tensor))
      return BadArgument(kernel_, FormatText("\"%s\" has strides, a compact tensor is required; copy it", name));
    return {};
  }

  void LearnFrom(const Extent& extent, int64_t value) {
    if (!extent.is_symbol() || known_[extent.value]) return;
    values_[extent.value] = value;
    known_[extent.value] = true;
  }

  RuntimeResult<int64_t> ValueOf(const ParamMeta& param, const Extent& extent) const {
    const RuntimeResult<int64_t> value = EvaluateExtent(extent, values_, scalars_);
    if (value.ok()) return value;
    return BadArgument(kernel_, "\"" + param.name + "\": " + value.error().message);
  }

  // With `extents`, a stride along one element (or none) may be anything.
  RuntimeError CheckList(const ParamMeta& param, const char* what, const std::vector<Extent>& wanted,
                         std::span<const int64_t> given, std::span<const int64_t> extents) const {
    for (size_t i = 0; i < wanted.size(); ++i) {
      RUNTIME_ASSIGN_OR_RETURN(const int64_t value, ValueOf(param, wanted[i]));
      const bool is_free = !extents.empty() && extents[i] <= 1;
      if (given[i] < 0 || (given[i] != value && !is_free)) {
        return BadArgument(kernel_, FormatText("\"%s\" %s %zu is %lld, %lld required", param.name.c_str(), what, i,
                                               (long long)given[i], (long long)value));
      }
    }
    return {};
  }

  const KernelMeta& kernel_;
  std::span<const int64_t> scalars_;
  std::vector<int64_t> values_;
  std::vector<bool> known_;
};

RuntimeError CheckCounts(const KernelMeta& kernel, size_t num_buffers, size_t num_scalars) {
  size_t buffers = 0;
  for (const ParamMeta& param : kernel.params) buffers += param.kind != ParamKind::kScalar;
  const size_t scalars = kernel.params.size() - buffers;
  if (num_buffers == buffers && num_scalars == scalars) return {};
  return BadArgument(kernel, FormatText("%zu buffers and %zu scalars given, %zu and %zu required", num_buffers,
                                        num_scalars, buffers, scalars));
}

}  // namespace

RuntimeResult<KernelArguments> BindArguments(const KernelMeta& kernel, std::span<const TensorView> buffers,
                                             std::span<const int64_t> scalars) {
  RUNTIME_RETURN_IF_ERROR(CheckCounts(kernel, buffers.size(), scalars.size()));
  KernelArguments arguments{{}, {scalars.begin(), scalars.end()}};
  ArgumentBinder binder(kernel, scalars);
  size_t next = 0;
  for (const ParamMeta& param : kernel.params)
    if (param.kind != ParamKind::kScalar) RUNTIME_RETURN_IF_ERROR(binder.Learn(param, buffers[next++]));
  RUNTIME_RETURN_IF_ERROR(binder.CheckAllKnown());
  next = 0;
  for (const ParamMeta& param : kernel.params) {
    if (param.kind == ParamKind::kScalar) continue;
    RUNTIME_ASSIGN_OR_RETURN(void* const data, binder.Check(param, buffers[next++]));
    arguments.buffers.push_back(data);
  }
  arguments.scalars.insert(arguments.scalars.end(), binder.symbols().begin(), binder.symbols().end());
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
