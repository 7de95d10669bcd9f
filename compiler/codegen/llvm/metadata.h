// Section `.lathe.meta`: what an artifact says about itself (layout: runtime/kernel_abi.h, docs/formats/artifact.md).
#pragma once

#include <span>
#include <string>

#include "compiler/artifact/kernel_signature.h"
#include "compiler/target/target.h"
#include "support/status.h"

namespace lathe {

// In the layout of kernel ABI `kernel_abi`; `needed_features`: of the CPU. InvalidArgument for an extent, stride or
// offset that arguments do not tell; FailedPrecondition for what only a newer ABI can say.
StatusOr<std::string> EncodeMetadata(std::span<const KernelSignature> kernels, const Target& target,
                                     const std::vector<std::string>& needed_features, uint32_t codegen_version,
                                     uint32_t kernel_abi);

}  // namespace lathe
