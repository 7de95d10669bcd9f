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
inline constexpr int kCodegenRevision = 6;
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

// Compiles `kernels` (lowered form: docs/formats/lowered_tir.md; unique names) and packs `sections` beside them. Fails
// with InvalidArgument where the IR is not in that form or not of `target`, and with FailedPrecondition where a
// register tile does not end in registers: such a candidate is invalid. `kernel_abi` is the one to emit, 0 the newest.
StatusOr<CompiledModule> CompileModule(std::span<const PrimFunc> kernels, std::span<const ArtifactSection> sections,
                                       const Target& target, uint32_t kernel_abi = 0);

enum class CodeText { kLlvmIr, kOptimizedLlvmIr, kAssembly };
// What CompileModule makes on the way, for people.
StatusOr<std::string> PrintCode(std::span<const PrimFunc> kernels, const Target& target, CodeText form);

}  // namespace lathe
