// LLVM IR to machine code: our own short optimisation pipeline, code generation, and the check of what became of
// register tiles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "support/status.h"

namespace lathe {

// The target's triple with a vendor where LLVM would else take the system for one. (Names without are harmless for
// x86-64 and AArch64, whose code must not change.)
std::string LlvmTriple(const Target& target);
// "+avx512vnni,-avx512f": what LLVM must be told beside the CPU's name. NEON by name on 32-bit Arm, where
// distributions' builds of LLVM leave it out of CPUs that have it.
std::string LlvmFeatures(const Target& target);
StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target);

// Promotes stack memory to SSA values, hoists, and vectorises loops that the schedule has left scalar. Never unrolls.
void Optimize(llvm::Module& module, llvm::TargetMachine& machine);

// What is wrong with each buffer of scope "register" that is still in memory after Optimize.
std::vector<std::string> RegisterTilesInMemory(const llvm::Module& module);

struct MachineCode {
  std::string bytes;  // Relocatable object, or assembly text.
  std::vector<std::string>
      spilled_tiles;  // What is wrong with functions that have register tiles: they spill in an inner loop.
  std::vector<std::string> warnings;           // Spills in inner loops of functions that promise nothing.
  std::vector<std::string> undefined_symbols;  // Of objects: what the linker would look for.
};
// kScheduled: LLVM's scheduler moves loads ahead of what waits for them, and may take more registers than there are.
// kAsWritten: in the order of the IR and in its blocks, where the selection of instructions allows it. LLVM's sinking
// of instructions moves products behind branches, and then all of their factors live at once.
enum class InstructionOrder : uint8_t { kScheduled, kAsWritten };
// Changes the module.
StatusOr<MachineCode> GenerateMachineCode(llvm::Module& module, llvm::TargetMachine& machine,
                                          llvm::CodeGenFileType type,
                                          InstructionOrder order = InstructionOrder::kScheduled);

}  // namespace lathe
