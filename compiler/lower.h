// From scheduled TensorIR to what code generators take (docs/formats/lowered_tir.md): a table of passes, run in order.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "compiler/ir/stmt.h"
#include "support/status.h"

namespace lathe {

struct LowerPass {
  std::string_view name;  // TVM's, in snake case: what RunPass takes.
  std::function<StatusOr<PrimFunc>(PrimFunc)> run;
};
// The CPU pipeline, in order.
std::span<const LowerPass> CpuPasses();

// Called after each pass with its result and what it took.
using PassObserver = std::function<void(std::string_view pass, const PrimFunc& after, double seconds)>;

struct LowerOptions {
  bool verify =
      true;  // Checks the IR before the first and after each pass; a search that lowers thousands may do without.
  PassObserver observer;  // May be empty.
};

// Errors name the pass. An ill-formed result of a pass is Internal: the pass has the fault; an ill-formed `func` is
// InvalidArgument.
StatusOr<PrimFunc> Lower(PrimFunc func, const LowerOptions& options = {});

// One row of the table. NotFound lists the names there are.
StatusOr<PrimFunc> RunPass(std::string_view name, PrimFunc func);

}  // namespace lathe
