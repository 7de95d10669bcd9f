// A relocatable ELF file that holds nothing but named read-only sections: how metadata, graphs and weights reach the
// linker without passing through LLVM.
#pragma once

#include <span>
#include <string>

#include "compiler/codegen/llvm/compile_module.h"

namespace lathe {

// Section names are unique, start with '.', and have at most 100 characters; sections are 64-byte aligned.
StatusOr<std::string> MakeSectionObject(std::span<const ArtifactSection> sections, Target::Arch arch);

}  // namespace lathe
