// Section `.lathe.meta`: what an artifact says about itself (layout: runtime/kernel_abi.h, docs/formats/artifact.md).
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/llvm/kernel_signature.h"
#include "compiler/target/target.h"

namespace lathe {

std::string EncodeMetadata(std::span<const KernelSignature> kernels, const Target& target, uint32_t codegen_version);

}  // namespace lathe
