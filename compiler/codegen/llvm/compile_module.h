// Lowered PrimFuncs in, one ELF shared object out: no DT_NEEDED, no undefined symbol, no constructor.
//
// LLVM and lld may abort on some inputs and lld is not safe to run twice at once, so this is called in lathe-builder
// (one thread) and in tests. No LLVM header is included here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"
#include "support/clock.h"
#include "support/status.h"

namespace lathe {

// Raised whenever emitted code may run differently (speed included). Recorded with every measurement.
inline constexpr int kCodegenRevision = 14;
inline constexpr int kCodegenVersion = 19 * 1000 + kCodegenRevision;  // LLVM's major version, then ours.

// Read-only data that travels inside the artifact, e.g. ".lathe.graph". Mapped with the library, 64-byte aligned; found
// by name.
struct ArtifactSection {
  std::string name;
  std::string_view bytes;
};

struct CompileTimes {
  Duration emit{}, optimize{}, generate{}, link{};
  Duration total() const { return emit + optimize + generate + link; }
};

struct CompiledModule {
  std::string bytes;  // The file.
  CompileTimes times;
  std::vector<std::string> warnings;  // E.g. values spilled in an inner loop. One line each.
};

struct CodegenOptions {
  uint32_t kernel_abi = 0;  // The one to emit; 0: the newest.
  // A register tile that does not end in registers makes a kernel slow, not wrong. To a search such a candidate is not
  // worth a measurement; whoever has no other schedule takes it, with a warning.
  bool refuses_spills = true;
};

// Compiles `kernels` (lowered form: docs/formats/lowered_tir.md; unique names) and packs `sections` beside them. Fails
// with InvalidArgument where the IR is not in that form or not of `target`, and with FailedPrecondition where a
// register tile does not end in registers, if that is refused.
StatusOr<CompiledModule> CompileModule(std::span<const PrimFunc> kernels, std::span<const ArtifactSection> sections,
                                       const Target& target, const CodegenOptions& options = {});

enum class CodeText { kLlvmIr, kOptimizedLlvmIr, kAssembly };
// What CompileModule makes on the way, for people.
StatusOr<std::string> PrintCode(std::span<const PrimFunc> kernels, const Target& target, CodeText form);

}  // namespace lathe
