// What the static executor does with a network: which kernels in which order on which memory. Made from `main` after
// OptimizeForTuning, serialised into the sections `.lathe.graph` and `.lathe.const` of the artifact
// (docs/formats/graph.md), run by runtime/executor.h.
#pragma once

#include <string>
#include <vector>

#include "compiler/relax/module.h"
#include "runtime/kernel_abi.h"
#include "support/status.h"

namespace lathe::relax {

struct PlanValue {
  LatheGraphStorage storage = LATHE_STORAGE_ARENA;
  int64_t place =
      0;  // Number of the input, output or sized memory; bytes from the start of the constants or the arena.
  int64_t offset = 0;  // Of element 0 from `place`, in elements: of what lies inside of another tensor.
  DataType dtype;
  PrimShape shape;  // Over the plan's symbols.

  // CHECKs that no extent is symbolic.
  std::vector<int64_t> constant_shape() const;
};
struct PlanCall {
  std::string kernel;          // Name of a PrimFunc of the module.
  std::vector<uint32_t> args;  // Values in parameter order, the results last.
  size_t num_results = 1;
};
struct PlanPort {
  std::string name;
  uint32_t value = 0;
};
struct PlacedConstant {
  TensorData data;
  int64_t offset = 0;
};

struct ExecutorPlan {
  std::vector<lathe::Var> symbols;  // Extents that the inputs decide, each an extent of some input.
  std::vector<PlanValue> values;
  std::vector<PlanCall> calls;
  std::vector<PlanPort> inputs, outputs;
  std::vector<PlacedConstant> constants;  // Equal contents once, in order of offset.
  int64_t arena_bytes = 0, constant_bytes = 0;
};

// Extents are numbers, or expressions over variables that are extents of inputs: what has such a shape gets memory of
// its own, sized by each run; everything else shares one arena. Reshapes cost nothing: they are values on the same
// memory. Nor do concatenations and slices of which place_slices.h finds that they need no copy: they are no calls of
// the plan. A result that a kernel makes is written straight into the caller's memory.
StatusOr<ExecutorPlan> MakeExecutorPlan(const IRModule& module);

// Fails for extents that the format cannot say (docs/formats/graph.md).
StatusOr<std::string> SerializeGraph(const ExecutorPlan& plan);
std::string SerializeConstants(const ExecutorPlan& plan);

}  // namespace lathe::relax
