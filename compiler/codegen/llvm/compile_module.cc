#include "compiler/codegen/llvm/compile_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/llvm/kernel_emitter.h"
#include "compiler/codegen/llvm/link.h"
#include "compiler/codegen/llvm/machine_code.h"
#include "compiler/codegen/llvm/metadata.h"
#include "compiler/codegen/llvm/section_object.h"
#include "compiler/codegen/llvm/support_functions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/kernel_abi.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr char kMetaSection[] = ".lathe.meta";

// The parts of one compilation; a fresh LLVM context each time, so that nothing grows over a builder's life.
struct Compilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::vector<KernelSignature> signatures;
  bool uses_tiles = false;  // Of AMX.
};

std::unique_ptr<llvm::Module> NewModule(Compilation& compilation, const Target& target) {
  auto module = std::make_unique<llvm::Module>("lathe", compilation.context);
  module->setTargetTriple(LlvmTriple(target));
  module->setDataLayout(compilation.machine->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return module;
}

Status CheckNames(std::span<const PrimFunc> kernels, std::span<const ArtifactSection> sections) {
  std::unordered_set<std::string_view> names;
  for (const PrimFunc& kernel : kernels) {
    if (!names.insert(kernel.name).second)
      return InvalidArgument(fmt::format("codegen: two kernels are named \"{}\"; rename one", kernel.name));
  }
  names = {kMetaSection};
  for (const ArtifactSection& section : sections) {
    if (!names.insert(section.name).second)
      return InvalidArgument(fmt::format("codegen: two sections are named \"{}\"; rename one", section.name));
  }
  return OkStatus();
}

Status Emit(std::span<const PrimFunc> kernels, const Target& target, Compilation& compilation) {
  ASSIGN_OR_RETURN(compilation.machine, MakeTargetMachine(target));
  compilation.module = NewModule(compilation, target);
  for (size_t i = 0; i < kernels.size(); ++i) {
    ASSIGN_OR_RETURN(KernelSignature signature, MakeSignature(kernels[i], i));
    KernelEmitter emitter(*compilation.module, target, signature);
    RETURN_IF_ERROR(emitter.Emit(kernels[i]));
    compilation.uses_tiles |= emitter.uses_tiles();
    compilation.signatures.push_back(std::move(signature));
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*compilation.module, &stream))
    return InternalError(fmt::format("codegen: wrote malformed LLVM IR: {}", problem.substr(0, 400)));
  return OkStatus();
}

std::string ToText(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// The object with the functions that the kernels' object calls, and with those that these call; nothing if it calls
// none.
StatusOr<std::string> SupportObject(std::vector<std::string> names, const Target& target, Compilation& compilation) {
  while (!names.empty()) {
    const std::unique_ptr<llvm::Module> module = NewModule(compilation, target);
    const std::vector<std::string> unknown = DefineSupportFunctions(names, target, *module);
    if (!unknown.empty())
      return InternalError(
          fmt::format("codegen: the kernels call \"{}\", which has no definition here; emit it with them",
                      fmt::join(unknown, "\", \"")));
    ASSIGN_OR_RETURN(MachineCode code,
                     GenerateMachineCode(*module, *compilation.machine, llvm::CodeGenFileType::ObjectFile));
    if (code.undefined_symbols.empty()) return std::move(code.bytes);
    names.insert(names.end(), code.undefined_symbols.begin(), code.undefined_symbols.end());
  }
  return std::string();
}

// Where LLVM's moving of instructions makes register tiles spill, as written. Some candidates of a hundred come here,
// so they are emitted again rather than all others copied before.
StatusOr<MachineCode> Generate(std::span<const PrimFunc> kernels, const Target& target, llvm::CodeGenFileType type,
                               Compilation& compilation) {
  ASSIGN_OR_RETURN(MachineCode code, GenerateMachineCode(*compilation.module, *compilation.machine, type));
  if (code.spilled_tiles.empty()) return code;
  compilation.signatures.clear();
  RETURN_IF_ERROR(Emit(kernels, target, compilation));
  Optimize(*compilation.module, *compilation.machine);
  ASSIGN_OR_RETURN(MachineCode as_written,
                   GenerateMachineCode(*compilation.module, *compilation.machine, type, InstructionOrder::kAsWritten));
  return as_written.spilled_tiles.empty() ? std::move(as_written) : std::move(code);
}

// What the machine must have. Tiles want a permission besides, so that only code with tiles asks for them.
std::vector<std::string> NeededFeatures(const Target& target, bool uses_tiles) {
  std::vector<std::string> needed = target.features();
  if (!uses_tiles) std::erase_if(needed, [](const std::string& feature) { return feature.starts_with("amx-"); });
  return needed;
}

// What should be in registers and is not: an error, or warnings.
Status TakeBrokenPromises(std::vector<std::string> promises, const CodegenOptions& options, CompiledModule& result) {
  if (!promises.empty() && options.refuses_spills)
    return FailedPrecondition(promises.front() + "; candidate is invalid");
  result.warnings.insert(result.warnings.end(), promises.begin(), promises.end());
  return OkStatus();
}

class StopWatch {
 public:
  Duration Lap() {
    const TimePoint now = SystemClock().Now();
    return now - std::exchange(start_, now);
  }

 private:
  TimePoint start_ = SystemClock().Now();
};

}  // namespace

StatusOr<CompiledModule> CompileModule(std::span<const PrimFunc> kernels, std::span<const ArtifactSection> sections,
                                       const Target& target, const CodegenOptions& options) {
  RETURN_IF_ERROR(CheckNames(kernels, sections));
  CompiledModule result;
  Compilation compilation;
  StopWatch watch;
  RETURN_IF_ERROR(Emit(kernels, target, compilation));
  result.times.emit = watch.Lap();
  Optimize(*compilation.module, *compilation.machine);
  RETURN_IF_ERROR(TakeBrokenPromises(RegisterTilesInMemory(*compilation.module), options, result));
  result.times.optimize = watch.Lap();
  ASSIGN_OR_RETURN(MachineCode code, Generate(kernels, target, llvm::CodeGenFileType::ObjectFile, compilation));
  ASSIGN_OR_RETURN(const std::string support, SupportObject(code.undefined_symbols, target, compilation));
  RETURN_IF_ERROR(TakeBrokenPromises(std::move(code.spilled_tiles), options, result));
  result.warnings.insert(result.warnings.end(), code.warnings.begin(), code.warnings.end());
  result.times.generate = watch.Lap();

  ASSIGN_OR_RETURN(
      const std::string metadata,
      EncodeMetadata(compilation.signatures, target, NeededFeatures(target, compilation.uses_tiles), kCodegenVersion,
                     options.kernel_abi == 0 ? LATHE_KERNEL_ABI_VERSION : options.kernel_abi));
  std::vector<ArtifactSection> all(sections.begin(), sections.end());
  all.insert(all.begin(), {kMetaSection, metadata});
  ASSIGN_OR_RETURN(const std::string data, MakeSectionObject(all, target.arch()));
  std::vector<std::string_view> objects = {code.bytes, data};
  if (!support.empty()) objects.push_back(support);
  ASSIGN_OR_RETURN(result.bytes, LinkSharedObject(objects, target));
  RETURN_IF_ERROR(CheckSelfContained(result.bytes));
  result.times.link = watch.Lap();
  return result;
}

StatusOr<std::string> PrintCode(std::span<const PrimFunc> kernels, const Target& target, CodeText form) {
  Compilation compilation;
  RETURN_IF_ERROR(Emit(kernels, target, compilation));
  if (form == CodeText::kLlvmIr) return ToText(*compilation.module);
  Optimize(*compilation.module, *compilation.machine);
  if (form == CodeText::kOptimizedLlvmIr) return ToText(*compilation.module);
  ASSIGN_OR_RETURN(MachineCode code, Generate(kernels, target, llvm::CodeGenFileType::AssemblyFile, compilation));
  return std::move(code.bytes);
}

}  // namespace lathe
