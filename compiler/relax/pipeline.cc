#include "compiler/relax/pipeline.h"

#include "compiler/relax/transform/alter_op_layout.h"
#include "compiler/relax/transform/annotate_tir_op_pattern.h"
#include "compiler/relax/transform/canonicalize_bindings.h"
#include "compiler/relax/transform/convert_layout.h"
#include "compiler/relax/transform/dead_code_elimination.h"
#include "compiler/relax/transform/fold_constant.h"
#include "compiler/relax/transform/fuse_ops.h"
#include "compiler/relax/transform/fuse_tir.h"
#include "compiler/relax/transform/legalize_ops.h"
#include "compiler/relax/transform/simplify_inference.h"
#include "compiler/relax/well_formed.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

struct PassRow {
  const char* name;
  int opt_level;  // Runs at this level and above.
  StatusOr<IRModule> (*run)(IRModule module, const LayoutTarget& target);
};

// Constants are folded before batch norms, whose statistics may be reshaped constants, and after, when weights have
// been scaled.
constexpr PassRow kPasses[] = {
    {"CanonicalizeBindings", 0, [](IRModule m, const LayoutTarget&) { return CanonicalizeBindings(std::move(m)); }},
    {"FoldConstant", 1, [](IRModule m, const LayoutTarget&) { return FoldConstant(std::move(m)); }},
    {"SimplifyInference", 0, [](IRModule m, const LayoutTarget&) { return SimplifyInference(std::move(m)); }},
    {"FoldConstant", 1, [](IRModule m, const LayoutTarget&) { return FoldConstant(std::move(m)); }},
    {"CanonicalizeBindings", 0, [](IRModule m, const LayoutTarget&) { return CanonicalizeBindings(std::move(m)); }},
    {"DeadCodeElimination", 0,
     [](IRModule m, const LayoutTarget&) -> StatusOr<IRModule> { return DeadCodeElimination(std::move(m)); }},
    {"ConvertLayout", 3, [](IRModule m, const LayoutTarget& target) { return ConvertLayout(std::move(m), target); }},
    {"AlterOpLayout", 3, [](IRModule m, const LayoutTarget& target) { return AlterOpLayout(std::move(m), target); }},
    {"LegalizeOps", 0, [](IRModule m, const LayoutTarget&) { return LegalizeOps(std::move(m)); }},
    {"AnnotateTIROpPattern", 2,
     [](IRModule m, const LayoutTarget&) -> StatusOr<IRModule> { return AnnotateTIROpPattern(std::move(m)); }},
    {"FuseOps", 2, [](IRModule m, const LayoutTarget& target) { return FuseOps(std::move(m), target); }},
    {"DeadCodeElimination", 2,
     [](IRModule m, const LayoutTarget&) -> StatusOr<IRModule> { return DeadCodeElimination(std::move(m)); }},
    {"FuseTIR", 0, [](IRModule m, const LayoutTarget&) { return FuseTIR(std::move(m)); }},
    {"DeadCodeElimination", 0,
     [](IRModule m, const LayoutTarget&) -> StatusOr<IRModule> { return DeadCodeElimination(std::move(m)); }},
};

}  // namespace

StatusOr<IRModule> OptimizeForTuning(IRModule module, const LayoutTarget& target, int opt_level) {
  for (const PassRow& pass : kPasses) {
    if (pass.opt_level > opt_level) continue;
    StatusOr<IRModule> result = pass.run(std::move(module), target);
    if (!result.ok()) return result.status().WithContext(pass.name);
    module = *std::move(result);
    if (const Status status = CheckWellFormed(module); !status.ok())
      return status.WithContext(std::string("after ") + pass.name);
  }
  return module;
}

}  // namespace lathe::relax
