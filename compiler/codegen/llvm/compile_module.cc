#include "compiler/codegen/llvm/compile_module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

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

// What the modules of one compilation share; a fresh LLVM context each time, so that nothing grows over a builder's
// life.
struct Compilation {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
};

// A kernel is a module of its own: its code is what was measured, whatever it is deployed with.
struct Kernel {
  const PrimFunc& func;
  KernelSignature signature;
  std::unique_ptr<llvm::Module> module;
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

Status Emit(const Target& target, Compilation& compilation, Kernel& kernel) {
  kernel.module = NewModule(compilation, target);
  KernelEmitter emitter(*kernel.module, target, kernel.signature);
  RETURN_IF_ERROR(emitter.Emit(kernel.func));
  kernel.uses_tiles = emitter.uses_tiles();
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*kernel.module, &stream))
    return InternalError(fmt::format("codegen: wrote malformed LLVM IR: {}", problem.substr(0, 400)));
  return OkStatus();
}

StatusOr<std::vector<Kernel>> EmitAll(std::span<const PrimFunc> funcs, const Target& target, Compilation& compilation) {
  ASSIGN_OR_RETURN(compilation.machine, MakeTargetMachine(target));
  std::vector<Kernel> kernels;
  for (size_t i = 0; i < funcs.size(); ++i) {
    ASSIGN_OR_RETURN(KernelSignature signature, MakeSignature(funcs[i], i));
    kernels.push_back({funcs[i], std::move(signature), nullptr});
    RETURN_IF_ERROR(Emit(target, compilation, kernels.back()));
  }
  return kernels;
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
StatusOr<MachineCode> Generate(const Target& target, llvm::CodeGenFileType type, Compilation& compilation,
                               Kernel& kernel) {
  ASSIGN_OR_RETURN(MachineCode code, GenerateMachineCode(*kernel.module, *compilation.machine, type));
  if (code.spilled_tiles.empty()) return code;
  RETURN_IF_ERROR(Emit(target, compilation, kernel));
  Optimize(*kernel.module, *compilation.machine);
  ASSIGN_OR_RETURN(MachineCode as_written,
                   GenerateMachineCode(*kernel.module, *compilation.machine, type, InstructionOrder::kAsWritten));
  return as_written.spilled_tiles.empty() ? std::move(as_written) : std::move(code);
}

// What the machine must have. Tiles want a permission besides, so that only code with tiles asks for them.
std::vector<std::string> NeededFeatures(const Target& target, bool uses_tiles) {
  std::vector<std::string> needed = target.features();
  if (!uses_tiles) std::erase_if(needed, [](const std::string& feature) { return feature.starts_with("amx-"); });
  return needed;
}

StatusOr<std::string> MetadataOf(const std::vector<Kernel>& kernels, const Target& target,
                                 const CodegenOptions& options) {
  std::vector<KernelSignature> signatures;
  bool uses_tiles = false;
  for (const Kernel& kernel : kernels) {
    signatures.push_back(kernel.signature);
    uses_tiles |= kernel.uses_tiles;
  }
  return EncodeMetadata(signatures, target, NeededFeatures(target, uses_tiles), kCodegenVersion,
                        options.kernel_abi == 0 ? LATHE_KERNEL_ABI_VERSION : options.kernel_abi);
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

StatusOr<CompiledModule> CompileModule(std::span<const PrimFunc> funcs, std::span<const ArtifactSection> sections,
                                       const Target& target, const CodegenOptions& options) {
  RETURN_IF_ERROR(CheckNames(funcs, sections));
  CompiledModule result;
  Compilation compilation;
  StopWatch watch;
  ASSIGN_OR_RETURN(std::vector<Kernel> kernels, EmitAll(funcs, target, compilation));
  result.times.emit = watch.Lap();
  for (Kernel& kernel : kernels) {
    Optimize(*kernel.module, *compilation.machine);
    RETURN_IF_ERROR(TakeBrokenPromises(RegisterTilesInMemory(*kernel.module), options, result));
  }
  result.times.optimize = watch.Lap();
  std::vector<std::string> objects;
  std::set<std::string> called;
  for (Kernel& kernel : kernels) {
    ASSIGN_OR_RETURN(MachineCode code, Generate(target, llvm::CodeGenFileType::ObjectFile, compilation, kernel));
    RETURN_IF_ERROR(TakeBrokenPromises(std::move(code.spilled_tiles), options, result));
    result.warnings.insert(result.warnings.end(), code.warnings.begin(), code.warnings.end());
    called.insert(code.undefined_symbols.begin(), code.undefined_symbols.end());
    objects.push_back(std::move(code.bytes));
  }
  ASSIGN_OR_RETURN(std::string support, SupportObject({called.begin(), called.end()}, target, compilation));
  if (!support.empty()) objects.push_back(std::move(support));
  result.times.generate = watch.Lap();

  ASSIGN_OR_RETURN(const std::string metadata, MetadataOf(kernels, target, options));
  std::vector<ArtifactSection> all(sections.begin(), sections.end());
  all.insert(all.begin(), {kMetaSection, metadata});
  ASSIGN_OR_RETURN(const std::string data, MakeSectionObject(all, target.arch()));
  std::vector<std::string_view> linked(objects.begin(), objects.end());
  linked.push_back(data);
  ASSIGN_OR_RETURN(result.bytes, LinkSharedObject(linked, target));
  RETURN_IF_ERROR(CheckSelfContained(result.bytes));
  result.times.link = watch.Lap();
  return result;
}

StatusOr<std::string> PrintCode(std::span<const PrimFunc> funcs, const Target& target, CodeText form) {
  Compilation compilation;
  ASSIGN_OR_RETURN(std::vector<Kernel> kernels, EmitAll(funcs, target, compilation));
  std::string text;
  for (Kernel& kernel : kernels) {
    if (form != CodeText::kLlvmIr) Optimize(*kernel.module, *compilation.machine);
    if (form != CodeText::kAssembly) {
      text += ToText(*kernel.module);
      continue;
    }
    ASSIGN_OR_RETURN(const MachineCode code,
                     Generate(target, llvm::CodeGenFileType::AssemblyFile, compilation, kernel));
    text += code.bytes;
  }
  return text;
}

}  // namespace lathe
