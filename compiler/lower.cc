#include "compiler/lower.h"

#include <fmt/format.h>

#include <chrono>

#include "compiler/transform/arrange_register_tiles.h"
#include "compiler/transform/compact_buffer_allocation.h"
#include "compiler/transform/convert_blocks_to_opaque.h"
#include "compiler/transform/flatten_buffer.h"
#include "compiler/transform/hoist_if_then_else.h"
#include "compiler/transform/loop_partition.h"
#include "compiler/transform/lower_init_block.h"
#include "compiler/transform/lower_match_buffer.h"
#include "compiler/transform/lower_opaque_block.h"
#include "compiler/transform/plan_and_update_buffer_allocation_location.h"
#include "compiler/transform/remove_no_op.h"
#include "compiler/transform/simplify.h"
#include "compiler/transform/unique_names.h"
#include "compiler/transform/unroll_loop.h"
#include "compiler/transform/vectorize_loop.h"
#include "compiler/transform/verify.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

const LowerPass kCpuPasses[] = {
    {"plan_and_update_buffer_allocation_location", PlanAndUpdateBufferAllocationLocation},
    {"lower_init_block", LowerInitBlock},
    {"convert_blocks_to_opaque", ConvertBlocksToOpaque},
    {"compact_buffer_allocation", CompactBufferAllocation},
    {"lower_match_buffer", LowerMatchBuffer},
    {"lower_opaque_block", LowerOpaqueBlock},
    {"simplify_loops", Simplify},
    {"arrange_register_tiles", ArrangeRegisterTiles},
    {"hoist_if_then_else", HoistIfThenElse},
    {"loop_partition", LoopPartition},
    {"flatten_buffer", FlattenBuffer},
    {"simplify_indices", Simplify},
    {"vectorize_loop", VectorizeLoop},
    {"unroll_loop", UnrollLoop},
    {"simplify", Simplify},
    {"remove_no_op", RemoveNoOp},
    {"unique_names", UniqueNames},
};

}  // namespace

std::span<const LowerPass> CpuPasses() { return kCpuPasses; }

StatusOr<PrimFunc> Lower(PrimFunc func, const LowerOptions& options) {
  if (options.verify) RETURN_IF_ERROR(VerifyWellFormed(func));
  for (const LowerPass& pass : kCpuPasses) {
    const auto start = std::chrono::steady_clock::now();
    StatusOr<PrimFunc> result = pass.run(std::move(func));
    if (!result.ok()) return result.status();
    func = *std::move(result);
    if (options.observer)
      options.observer(pass.name, func,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    if (!options.verify) continue;
    const Status status = VerifyWellFormed(func);
    if (!status.ok())
      return InternalError(fmt::format("lower @{} after {}: {}", func.name, pass.name, status.message()));
  }
  RETURN_IF_ERROR(VerifyLowered(func));
  return func;
}

StatusOr<PrimFunc> RunPass(std::string_view name, PrimFunc func) {
  std::string known;
  for (const LowerPass& pass : kCpuPasses) {
    if (pass.name == name) return pass.run(std::move(func));
    known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
  }
  return NotFound(fmt::format("run pass \"{}\": no such pass; known: {}", name, known));
}

}  // namespace lathe
