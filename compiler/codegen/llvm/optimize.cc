#include <fmt/format.h>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/machine_code.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"

namespace lathe {
namespace {

// (p + constant) + index becomes (p + index) + constant, which an access has room for. LICM, which takes p + constant
// out of a loop, leaves as many pointers as there are constants, more than a processor has registers for.
struct ConstantsLast : llvm::PassInfoMixin<ConstantsLast> {
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    bool has_changed = false;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) {
        auto* outer = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
        if (outer != nullptr) has_changed |= Swap(*outer);
      }
    }
    if (!has_changed) return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses kept;
    kept.preserveSet<llvm::CFGAnalyses>();
    return kept;
  }

 private:
  static bool IsScalar(const llvm::GetElementPtrInst& address) {
    return !address.getType()->isVectorTy() && address.getNumIndices() == 1;
  }
  // Definitions come before uses, so the inner one has been swapped by then.
  static bool Swap(llvm::GetElementPtrInst& outer) {
    auto* inner = llvm::dyn_cast<llvm::GetElementPtrInst>(outer.getPointerOperand());
    if (inner == nullptr || !IsScalar(outer) || !IsScalar(*inner)) return false;
    if (outer.hasAllConstantIndices() || !inner->hasAllConstantIndices()) return false;
    llvm::IRBuilder<> b(&outer);
    llvm::Value* moved = b.CreateGEP(outer.getSourceElementType(), inner->getPointerOperand(), outer.getOperand(1));
    llvm::Value* result = b.CreateGEP(inner->getSourceElementType(), moved, inner->getOperand(1));
    outer.replaceAllUsesWith(result);
    outer.eraseFromParent();
    if (auto* again = llvm::dyn_cast<llvm::GetElementPtrInst>(moved)) Swap(*again);
    return true;
  }
};

llvm::FunctionPassManager MakePipeline(bool may_vectorize) {
  using namespace llvm;
  FunctionPassManager passes;
  passes.addPass(SROAPass(SROAOptions::ModifyCFG));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(InstCombinePass());
  passes.addPass(SimplifyCFGPass());
  LoopPassManager loops;
  loops.addPass(LoopRotatePass());
  loops.addPass(LICMPass(LICMOptions()));
  loops.addPass(IndVarSimplifyPass(/*WidenIndVars=*/false));
  passes.addPass(createFunctionToLoopPassAdaptor(std::move(loops), /*UseMemorySSA=*/true));
  passes.addPass(SROAPass(SROAOptions::PreserveCFG));
  if (may_vectorize) {
    // Not SLPVectorizerPass, which in LLVM 19 moves a gathered load in front of the stores that it reads.
    passes.addPass(LoopVectorizePass());
    passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  }
  passes.addPass(InstCombinePass());
  passes.addPass(ConstantsLast());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(ADCEPass());
  return passes;
}

bool HasVectorCode(const llvm::Function& function) {
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (instruction.getType()->isVectorTy()) return true;
  }
  return false;
}

}  // namespace

void Optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager scalar = MakePipeline(true), vectorized = MakePipeline(false);
  for (llvm::Function& function : module) {
    // Where the schedule has vectorised, LLVM's vectorisers keep out: they would rearrange what was chosen.
    if (!function.isDeclaration()) (HasVectorCode(function) ? vectorized : scalar).run(function, functions);
  }
}

std::vector<std::string> RegisterTilesInMemory(const llvm::Module& module) {
  std::vector<std::string> found;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* memory = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (memory == nullptr || !memory->getName().starts_with(kRegisterTilePrefix)) continue;
      const llvm::StringRef name = memory->getName().drop_front(kRegisterTilePrefix.size()).split('.').first;
      found.push_back(
          fmt::format("codegen: register tile \"{}\" stays in memory, because an index into it is not constant or its "
                      "accesses overlap in part; unroll the loops over the tile and access it by whole vectors",
                      name.str()));
    }
  }
  return found;
}

}  // namespace lathe
