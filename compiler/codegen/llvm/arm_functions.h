// What LLVM calls for 64-bit arithmetic on a 32-bit Arm processor, by the names and the registers of Arm's run-time ABI
// (RTABI, "integer and floating-point helper functions").
#pragma once

#include <string>

#include "compiler/target/target.h"
#include "llvm/IR/Module.h"

namespace lathe {

// Writes the function called `name` into `module`; false where it is none of these.
bool DefineArmFunction(const std::string& name, const Target& target, llvm::Module& module);

}  // namespace lathe
