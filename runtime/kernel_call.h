// Checks tensors against a kernel's metadata, finds the symbolic extents, and calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/context.h"
#include "runtime/ndarray.h"

namespace lathe {

// Arguments in the form of the kernel ABI.
struct KernelArguments {
  std::vector<void*> buffers;
  std::vector<int64_t> scalars;
};

// `buffers` (pointer parameters take one of any type) and `scalars` (by bit pattern) in parameter order. Checks number,
// dtype, rank, extents, strides, offset, alignment, and that a symbol has one value everywhere: that of the first
// extent, stride or offset which is it. The tensors must outlive the calls.
RuntimeResult<KernelArguments> BindArguments(const KernelMeta& kernel, std::span<const TensorView> buffers,
                                             std::span<const int64_t> scalars = {});

// One call; the kernel's own words when it fails. Out of scratch memory is kResourceExhausted.
RuntimeError CallKernel(const Artifact::Kernel& kernel, const KernelArguments& arguments, KernelContext& context);

}  // namespace lathe
