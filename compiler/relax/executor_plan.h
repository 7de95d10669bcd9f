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
  int64_t place = 0;  // Number of the input or output; bytes from the start of the constants or of the arena.
  DataType dtype;
  std::vector<int64_t> shape;
};
struct PlanCall {
  std::string kernel;          // Name of a PrimFunc of the module.
  std::vector<uint32_t> args;  // Values in parameter order; the last one is the result.
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
  std::vector<PlanValue> values;
  std::vector<PlanCall> calls;
  std::vector<PlanPort> inputs, outputs;
  std::vector<PlacedConstant> constants;  // Equal contents once, in order of offset.
  int64_t arena_bytes = 0, constant_bytes = 0;
};

// Shapes must be constant. Reshapes cost nothing: they are values on the same memory. A result that a kernel makes is
// written straight into the caller's memory.
StatusOr<ExecutorPlan> MakeExecutorPlan(const IRModule& module);

std::string SerializeGraph(const ExecutorPlan& plan);
std::string SerializeConstants(const ExecutorPlan& plan);

}  // namespace lathe::relax
