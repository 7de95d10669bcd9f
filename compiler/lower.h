// From scheduled TensorIR to what code generators take (docs/formats/lowered_tir.md): a table of passes, run in order.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

// What a pass demands of blocks: no inits; none but opaque ones, without iter vars, inits and match buffers.
enum class BlockForm : uint8_t { kAny, kNoInit, kOpaque };
struct LowerPass {
  std::string_view name;  // TVM's, in snake case: what RunPass takes.
  std::function<StatusOr<PrimFunc>(PrimFunc)> run;
  BlockForm takes = BlockForm::kAny;
};
// The CPU pipeline, in order.
std::span<const LowerPass> CpuPasses();
// Passes of TVM that programs ask for by name, and no pipeline here needs.
std::span<const LowerPass> OtherPasses();

// Passes that see a module as a whole: those that split functions, or change them and their callers. By name only.
struct ModulePass {
  std::string_view name;
  StatusOr<IRModule> (*run)(IRModule module);
};
std::span<const ModulePass> ModulePasses();

// Called after each pass with its result and what it took.
using PassObserver = std::function<void(std::string_view pass, const PrimFunc& after, double seconds)>;

struct LowerOptions {
  bool verify =
      true;  // Checks the IR before the first and after each pass; a search that lowers thousands may do without.
  PassObserver observer;  // May be empty.
};

// Errors name the pass. An ill-formed result of a pass is Internal: the pass has the fault; an ill-formed `func` is
// InvalidArgument.
StatusOr<PrimFunc> LowerBy(std::span<const LowerPass> passes, PrimFunc func, const LowerOptions& options = {});
// By CpuPasses().
StatusOr<PrimFunc> Lower(PrimFunc func, const LowerOptions& options = {});

// One row of the tables. NotFound lists the names there are; InvalidArgument: the function has not the form that the
// pass takes.
StatusOr<PrimFunc> RunPass(std::string_view name, PrimFunc func);

// What TVM's pass of that name does, where the pipeline's does more, on memory with buffers declared over it in place
// of AllocBuffer: with the options of a PassContext
// ("tir.UnrollLoop"
// ... to a map each; what they do not say has TVM's default). InvalidArgument: an option of another type.
StatusOr<PrimFunc> RunPassAsTvm(std::string_view name, PrimFunc func, const AttrMap& config);

// The passes of TVM 0.18's `lower`, in order, by phase: programs put their own between those. Empty beyond the last
// one. `simple_mode`: without the partition of loops. `of_stages`: without those that leave alone what te's schedules
// become.
inline constexpr int kNumLowerPhases = 4;
std::vector<std::string_view> TvmLowerPhase(int phase, bool simple_mode, bool of_stages);

// RunPassAsTvm of each function, or the row of ModulePasses.
StatusOr<IRModule> RunPassAsTvm(std::string_view name, IRModule module, const AttrMap& config);

}  // namespace lathe
