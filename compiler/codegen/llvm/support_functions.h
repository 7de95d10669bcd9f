// The functions that LLVM calls on its own accord (memcpy, half-precision conversions ...), written into the module
// that needs them.
#pragma once

#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "llvm/IR/Module.h"

namespace lathe {

// Adds a definition, local to the artifact, of each of `names` that we can write. Returns those that we cannot.
std::vector<std::string> DefineSupportFunctions(const std::vector<std::string>& names, const Target& target,
                                                llvm::Module& module);

// A function of that name, hidden, with an empty entry block.
llvm::Function* NewSupportFunction(llvm::Module& module, const Target& target, const std::string& name,
                                   llvm::Type* result, std::vector<llvm::Type*> args);

}  // namespace lathe
