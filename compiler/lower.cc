#include "compiler/lower.h"

#include <fmt/format.h>

#include <chrono>

#include "compiler/ir/visitor.h"
#include "compiler/transform/arrange_register_tiles.h"
#include "compiler/transform/compact_buffer_allocation.h"
#include "compiler/transform/convert_blocks_to_opaque.h"
#include "compiler/transform/flatten_buffer.h"
#include "compiler/transform/hoist_if_then_else.h"
#include "compiler/transform/loop_partition.h"
#include "compiler/transform/lower_init_block.h"
#include "compiler/transform/lower_match_buffer.h"
#include "compiler/transform/lower_opaque_block.h"
#include "compiler/transform/narrow_data_type.h"
#include "compiler/transform/plan_and_update_buffer_allocation_location.h"
#include "compiler/transform/remove_hints.h"
#include "compiler/transform/remove_no_op.h"
#include "compiler/transform/rewrite_unsafe_select.h"
#include "compiler/transform/simplify.h"
#include "compiler/transform/unique_names.h"
#include "compiler/transform/unroll_loop.h"
#include "compiler/transform/vectorize_loop.h"
#include "compiler/transform/verify.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// As TVM's pass of this name: what is moved is made simple.
PrimFunc HoistAndSimplify(PrimFunc func) { return RemoveNoOp(Simplify(HoistIfThenElse(std::move(func)))); }

const LowerPass kOtherPasses[] = {
    {"convert_ssa", [](PrimFunc func) { return Clone(func); }},
    {"force_narrow_index_to_int32", ForceNarrowIndexToInt32},
    {"hoist_if_then_else", HoistAndSimplify},
    {"narrow_data_type", [](PrimFunc func) { return NarrowDataType(std::move(func)); }},
    {"remove_assume", RemoveAssume},
    {"remove_store_undef", RemoveStoreUndef},
    {"rewrite_unsafe_select", RewriteUnsafeSelect},
    {"simplify", Simplify},
};

const LowerPass kCpuPasses[] = {
    {"plan_and_update_buffer_allocation_location", PlanAndUpdateBufferAllocationLocation},
    {"lower_init_block", LowerInitBlock},
    {"convert_blocks_to_opaque", ConvertBlocksToOpaque, BlockForm::kNoInit},
    {"compact_buffer_allocation", CompactBufferAllocation},
    {"lower_match_buffer", LowerMatchBuffer},
    {"lower_opaque_block", LowerOpaqueBlock, BlockForm::kOpaque},
    {"simplify_loops", SimplifyLoops},
    {"arrange_register_tiles", ArrangeRegisterTiles},
    {"insert_hoist_if_then_else", HoistIfThenElse},
    {"loop_partition", LoopPartition},
    {"flatten_buffer", FlattenBuffer},
    {"simplify_indices", SimplifyLoops},
    {"vectorize_loop", VectorizeLoop},
    {"unroll_loop", UnrollLoop},
    {"simplify_copies", SimplifyLoops},
    {"remove_no_op", RemoveNoOp},
    {"unique_names", UniqueNames},
};

// Whether every block of the function has the form.
class FormChecker : public StmtExprVisitor {
 public:
  explicit FormChecker(BlockForm form) : form_(form) {}
  std::string wrong_block;
  bool is_wrong = false;

 protected:
  void VisitBlock(const Block& block) override {
    const bool has_init = block->init.has_value();
    const bool is_opaque = !has_init && block->iter_vars.empty() && block->match_buffers.empty();
    if (form_ == BlockForm::kNoInit ? has_init : !is_opaque) {
      is_wrong = true;
      wrong_block = block->name;
    }
    StmtExprVisitor::VisitBlock(block);
  }

 private:
  const BlockForm form_;
};

Status CheckTakes(const LowerPass& pass, const PrimFunc& func) {
  if (pass.takes == BlockForm::kAny) return OkStatus();
  FormChecker checker(pass.takes);
  checker(func.body);
  if (!checker.is_wrong) return OkStatus();
  const bool no_init = pass.takes == BlockForm::kNoInit;
  return InvalidArgument(fmt::format("{} @{}: block \"{}\" {}; run {} before", pass.name, func.name,
                                     checker.wrong_block,
                                     no_init ? "has an init" : "has iter vars, an init or match buffers",
                                     no_init ? "lower_init_block" : "convert_blocks_to_opaque and lower_match_buffer"));
}

}  // namespace

std::span<const LowerPass> CpuPasses() { return kCpuPasses; }
std::span<const LowerPass> OtherPasses() { return kOtherPasses; }

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
  for (std::span<const LowerPass> table : {CpuPasses(), OtherPasses()}) {
    for (const LowerPass& pass : table) {
      if (pass.name == name) {
        RETURN_IF_ERROR(CheckTakes(pass, func));
        return pass.run(std::move(func));
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
    }
  }
  return NotFound(fmt::format("run pass \"{}\": no such pass; known: {}", name, known));
}

}  // namespace lathe
