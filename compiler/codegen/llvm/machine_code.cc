#include "compiler/codegen/llvm/machine_code.h"

#include <fmt/format.h>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "llvm/CodeGen/MachineDominators.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineLoopInfo.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/PseudoSourceValue.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"

namespace lathe {
namespace {

// Counts the spill slots that inner loops write vector and float values to (the whole function where there is no loop).
// What an inner loop only reads, a constant that was spilled before it, costs no more than any operand in memory. Runs
// on final machine code, so nothing can spill after it.
class SpillCounter : public llvm::MachineFunctionPass {
 public:
  struct Finding {
    std::string function;  // Symbol.
    std::string tiles;     // Names of the register tiles, or empty.
    size_t num_values = 0;
  };
  static char ID;
  explicit SpillCounter(std::vector<Finding>& findings) : MachineFunctionPass(ID), findings_(findings) {}

  bool runOnMachineFunction(llvm::MachineFunction& function) override {
    llvm::MachineDominatorTree dominators(function);
    const llvm::MachineLoopInfo loops(dominators);
    std::unordered_set<int> slots;
    for (const llvm::MachineBasicBlock& block : function) {
      const llvm::MachineLoop* loop = loops.getLoopFor(&block);
      const bool is_hot = loop != nullptr ? loop->isInnermost() : loops.empty();
      if (is_hot) CountSlots(block, slots);
    }
    if (!slots.empty()) {
      const llvm::Attribute tiles = function.getFunction().getFnAttribute(kHasRegisterTile);
      findings_.push_back(
          {function.getName().str(), tiles.isValid() ? tiles.getValueAsString().str() : "", slots.size()});
    }
    return false;
  }

 private:
  static void CountSlots(const llvm::MachineBasicBlock& block, std::unordered_set<int>& slots) {
    const llvm::MachineFunction& function = *block.getParent();
    for (const llvm::MachineInstr& instruction : block) {
      if (!TouchesFloatRegister(instruction, *function.getSubtarget().getRegisterInfo())) continue;
      for (const llvm::MachineMemOperand* access : instruction.memoperands()) {
        const auto* slot = llvm::dyn_cast_or_null<llvm::FixedStackPseudoSourceValue>(access->getPseudoValue());
        if (access->isStore() && slot != nullptr &&
            function.getFrameInfo().isSpillSlotObjectIndex(slot->getFrameIndex()))
          slots.insert(slot->getFrameIndex());
      }
    }
  }
  static bool TouchesFloatRegister(const llvm::MachineInstr& instruction, const llvm::TargetRegisterInfo& registers) {
    for (const llvm::MachineOperand& operand : instruction.operands()) {
      if (!operand.isReg() || !operand.getReg().isPhysical()) continue;
      const llvm::TargetRegisterClass* kind = registers.getMinimalPhysRegClass(operand.getReg());
      if (kind == nullptr) continue;  // Flags and the like.
      for (const llvm::MVT type :
           {llvm::MVT::f32, llvm::MVT::f64, llvm::MVT::v4f32, llvm::MVT::v8f32, llvm::MVT::v16f32}) {
        if (registers.isTypeLegalForClass(*kind, type)) return true;
      }
    }
    return false;
  }
  std::vector<Finding>& findings_;
};
char SpillCounter::ID = 0;

void InitializeTargets() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeARMTargetInfo();
    LLVMInitializeARMTarget();
    LLVMInitializeARMTargetMC();
    LLVMInitializeARMAsmPrinter();
    return true;
  }();
  (void)done;
}

bool HasRegisterTile(const llvm::Module& module) {
  return std::any_of(module.begin(), module.end(),
                     [](const llvm::Function& function) { return function.hasFnAttribute(kHasRegisterTile); });
}

// LLVM has no other switch for it than an option of its command line, which lld puts back with each link.
void UseLoopStrengthReduction(bool is_used) {
  auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("disable-lsr");
  if (found != options.end()) static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(!is_used);
}

std::vector<std::string> UndefinedSymbols(const std::string& object) {
  std::vector<std::string> names;
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, "kernels"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return names;
  }
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (flags && name && (*flags & llvm::object::BasicSymbolRef::SF_Undefined) != 0 && !name->empty())
      names.push_back(name->str());
    if (!flags) llvm::consumeError(flags.takeError());
    if (!name) llvm::consumeError(name.takeError());
  }
  return names;
}

}  // namespace

std::string LlvmTriple(const Target& target) {
  return target.arch() == Target::Arch::kArm ? llvm::Triple::normalize(target.triple()) : target.triple();
}

std::string LlvmFeatures(const Target& target) {
  std::string text = target.arch() == Target::Arch::kArm && target.Has("neon") ? "+neon" : "";
  for (const std::string& attr : target.attrs()) text += (text.empty() ? "" : ",") + attr;
  return text;
}

StatusOr<std::unique_ptr<llvm::TargetMachine>> MakeTargetMachine(const Target& target) {
  InitializeTargets();
  std::string error;
  const llvm::Target* description = llvm::TargetRegistry::lookupTarget(LlvmTriple(target), error);
  if (description == nullptr) return InternalError(fmt::format("codegen: {}", error));
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  std::unique_ptr<llvm::TargetMachine> machine(
      description->createTargetMachine(LlvmTriple(target), target.cpu(), LlvmFeatures(target), options,
                                       llvm::Reloc::PIC_, llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  if (machine == nullptr) return InternalError(fmt::format("codegen: LLVM has no machine for {}", target.ToString()));
  return machine;
}

StatusOr<MachineCode> GenerateMachineCode(llvm::Module& module, llvm::TargetMachine& machine,
                                          llvm::CodeGenFileType type, InstructionOrder order) {
  auto& target_machine = static_cast<llvm::LLVMTargetMachine&>(machine);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  std::vector<SpillCounter::Finding> findings;
  // Addresses in a tile are constants from a few pointers, which x86 adds for nothing: there is nothing to reduce, and
  // looking for it is a third of code generation.
  UseLoopStrengthReduction(!target_machine.getTargetTriple().isX86() || !HasRegisterTile(module));
  {
    llvm::legacy::PassManager passes;
    auto* machine_modules = new llvm::MachineModuleInfoWrapperPass(&target_machine);  // The pass manager owns passes.
    llvm::TargetPassConfig* config = target_machine.createPassConfig(passes);
    config->setDisableVerify(true);
    if (order == InstructionOrder::kAsWritten) {
      config->disablePass(&llvm::MachineSchedulerID);
      config->disablePass(&llvm::MachineSinkingID);
    }
    passes.add(config);
    passes.add(machine_modules);
    if (config->addISelPasses()) return InternalError("codegen: LLVM cannot select instructions for this target");
    config->addMachinePasses();
    config->setInitialized();
    passes.add(new SpillCounter(findings));
    if (target_machine.addAsmPrinter(passes, stream, nullptr, type, machine_modules->getMMI().getContext())) {
      return InternalError("codegen: LLVM cannot write code for this target");
    }
    passes.add(llvm::createFreeMachineFunctionPass());
    passes.run(module);
  }
  MachineCode code{.bytes = std::string(bytes.begin(), bytes.end())};
  for (const SpillCounter::Finding& finding : findings) {
    if (!finding.tiles.empty()) {
      code.spilled_tiles.push_back(
          fmt::format("codegen {}: register tile {} spills {} values in its inner loop on {}; choose a smaller "
                      "tile or a target with more registers",
                      finding.function, finding.tiles, finding.num_values, target_machine.getTargetCPU().str()));
    } else {
      code.warnings.push_back(fmt::format("{}: {} vector or float values are spilled in inner loops", finding.function,
                                          finding.num_values));
    }
  }
  if (type == llvm::CodeGenFileType::ObjectFile) code.undefined_symbols = UndefinedSymbols(code.bytes);
  return code;
}

}  // namespace lathe
