#include "compiler/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "compiler/ir/memory.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/annotate_device_regions.h"
#include "compiler/transform/arrange_register_tiles.h"
#include "compiler/transform/combine_context_call.h"
#include "compiler/transform/common_subexpr_elim_tir.h"
#include "compiler/transform/compact_buffer_allocation.h"
#include "compiler/transform/compute_legalize.h"
#include "compiler/transform/convert_blocks_to_opaque.h"
#include "compiler/transform/convert_for_loops_to_serial.h"
#include "compiler/transform/extract_prim_func_constants.h"
#include "compiler/transform/flatten_buffer.h"
#include "compiler/transform/hoist_expression.h"
#include "compiler/transform/hoist_if_then_else.h"
#include "compiler/transform/infer_fragment.h"
#include "compiler/transform/inject_double_buffer.h"
#include "compiler/transform/inject_permuted_layout.h"
#include "compiler/transform/inject_ptx_async_copy.h"
#include "compiler/transform/inject_ptx_ldg32.h"
#include "compiler/transform/inject_software_pipeline.h"
#include "compiler/transform/inject_virtual_thread.h"
#include "compiler/transform/inline_private_functions.h"
#include "compiler/transform/instrument_bound_checkers.h"
#include "compiler/transform/instrument_profile_intrinsics.h"
#include "compiler/transform/legalize_math.h"
#include "compiler/transform/lift_thread_binding.h"
#include "compiler/transform/loop_partition.h"
#include "compiler/transform/lower_cross_thread_reduction.h"
#include "compiler/transform/lower_device_kernel_launch.h"
#include "compiler/transform/lower_init_block.h"
#include "compiler/transform/lower_intrin.h"
#include "compiler/transform/lower_match_buffer.h"
#include "compiler/transform/lower_opaque_block.h"
#include "compiler/transform/lower_realized_buffers.h"
#include "compiler/transform/lower_thread_allreduce.h"
#include "compiler/transform/lower_tvm_builtin.h"
#include "compiler/transform/lower_vtcm_alloc.h"
#include "compiler/transform/lower_warp_memory.h"
#include "compiler/transform/make_packed_api.h"
#include "compiler/transform/make_unpacked_api.h"
#include "compiler/transform/manifest_shared_memory_local_stage.h"
#include "compiler/transform/merge_shared_memory_allocations.h"
#include "compiler/transform/narrow_data_type.h"
#include "compiler/transform/partition_likely_loops.h"
#include "compiler/transform/plan_and_update_buffer_allocation_location.h"
#include "compiler/transform/pointer_value_type_rewrite.h"
#include "compiler/transform/reduce_branching_through_overcompute.h"
#include "compiler/transform/remove_hints.h"
#include "compiler/transform/remove_no_op.h"
#include "compiler/transform/remove_weight_layout_rewrite_block.h"
#include "compiler/transform/renormalize_split_pattern.h"
#include "compiler/transform/return_by_buffer.h"
#include "compiler/transform/rewrite_tensorize.h"
#include "compiler/transform/rewrite_unsafe_select.h"
#include "compiler/transform/simplify.h"
#include "compiler/transform/skip_assert.h"
#include "compiler/transform/skip_zero_terms.h"
#include "compiler/transform/spell_out_calls.h"
#include "compiler/transform/split_host_device.h"
#include "compiler/transform/storage_legalize.h"
#include "compiler/transform/storage_rewrite.h"
#include "compiler/transform/target_attr.h"
#include "compiler/transform/thread_sync.h"
#include "compiler/transform/transpose_tiles.h"
#include "compiler/transform/unify_thread_binding.h"
#include "compiler/transform/unique_names.h"
#include "compiler/transform/unroll_loop.h"
#include "compiler/transform/use_assume_to_reduce_branches.h"
#include "compiler/transform/use_output_memory.h"
#include "compiler/transform/vectorize_loop.h"
#include "compiler/transform/verify.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// What is moved is made simple.
PrimFunc HoistAndSimplify(PrimFunc func, const HoistOptions& options) {
  return RemoveNoOp(SimplifyAsTvm(HoistExpression(std::move(func), options)));
}
// What TVM's HoistIfThenElse moves: conditions of statements.
HoistOptions OfStatements(bool across_threads) {
  using namespace hoisted_conditional;
  return {.conditionals = across_threads ? kIfElseStmt | kUsingBlockVar : kIfElseStmt, .let_bindings = 0};
}

// All of it runs on the device.
PrimFunc DecorateDeviceScope(PrimFunc func) {
  func.body = AttrStmt{"device_scope", 0, Attr(0), func.body};
  return func;
}

// Functions of te's stages only: others are flat already where TVM has this pass.
StatusOr<PrimFunc> FlattenLegacy(PrimFunc func, int64_t cache_line_bytes) {
  if (!func.attrs.contains("from_legacy_te_schedule")) return func;
  ASSIGN_OR_RETURN(func, FlattenBufferAndParams(LowerRealizedBuffers(std::move(func), cache_line_bytes)));
  // TVM says nothing of the parameters' flat views, and programs look at what follows.
  const auto is_of_param = [&](const Var& data) {
    return std::any_of(func.buffer_map.begin(), func.buffer_map.end(),
                       [&](const ParamBuffer& entry) { return entry.buffer->data.same_as(data); });
  };
  for (const DeclBuffer* view = func.body.As<DeclBuffer>(); view != nullptr && is_of_param(view->buffer->data);
       view = func.body.As<DeclBuffer>())
    func.body = Stmt(view->body);
  func.body = SplitAllocBuffers(func.body);
  return func;
}

// Ids go on from function to function, unless they are to begin anew.
PrimFunc MarkForProfiles(PrimFunc func, const ProfileOptions& options, bool begins_anew) {
  static std::atomic<int64_t> next_of_process = 0;
  int64_t next = begins_anew ? 0 : next_of_process.load();
  func = InstrumentProfileIntrinsics(std::move(func), options, next);
  next_of_process = next;
  return func;
}

const LowerPass kOtherPasses[] = {
    {"annotate_device_regions", AnnotateDeviceRegions},
    {"bf16_compute_legalize", BF16ComputeLegalize},
    {"bf16_storage_legalize", BF16StorageLegalize},
    {"combine_context_call", CombineContextCall},
    {"common_subexpr_elim_tir", [](PrimFunc func) { return CommonSubexprElimTIR(std::move(func)); }},
    {"convert_for_loops_to_serial", ConvertForLoopsToSerial},
    {"convert_ssa", [](PrimFunc func) { return Clone(func); }},
    {"decorate_device_scope", DecorateDeviceScope},
    {"force_narrow_index_to_int32", ForceNarrowIndexToInt32},
    {"fp8_compute_legalize", [](PrimFunc func) { return FP8ComputeLegalize(std::move(func), DataType::Float(32)); }},
    {"fp8_storage_legalize", FP8StorageLegalize},
    {"hoist_expression", [](PrimFunc func) { return HoistAndSimplify(std::move(func), {}); }},
    {"hoist_if_then_else", [](PrimFunc func) { return HoistAndSimplify(std::move(func), OfStatements(false)); }},
    {"infer_fragment", InferFragment},
    {"inject_double_buffer", [](PrimFunc func) { return InjectDoubleBuffer(std::move(func)); }},
    {"inject_permuted_layout", InjectPermutedLayout},
    {"inject_ptx_async_copy", InjectPTXAsyncCopy},
    {"inject_ptx_ldg32", InjectPTXLDG32},
    {"inject_software_pipeline", InjectSoftwarePipeline},
    {"inject_virtual_thread", InjectVirtualThread},
    {"instrument_bound_checkers", InstrumentBoundCheckers},
    {"instrument_profile_intrinsics", [](PrimFunc func) { return MarkForProfiles(std::move(func), {}, true); }},
    {"lift_thread_binding", LiftThreadBinding},
    {"lower_cross_thread_reduction", LowerCrossThreadReduction},
    {"lower_intrin", [](PrimFunc func) { return LowerIntrin(std::move(func)); }},
    {"lower_thread_allreduce", LowerThreadAllreduce},
    {"lower_tvm_builtin", LowerTVMBuiltin},
    {"lower_vtcm_alloc", LowerVtcmAlloc},
    {"lower_warp_memory", LowerWarpMemory},
    {"manifest_shared_memory_local_stage", ManifestSharedMemoryLocalStage},
    {"merge_shared_memory_allocations",
     [](PrimFunc func) { return MergeSharedMemoryAllocations(std::move(func), false); }},
    {"narrow_data_type", [](PrimFunc func) { return NarrowDataType(std::move(func)); }},
    {"pointer_value_type_rewrite", [](PrimFunc func) { return PointerValueTypeRewrite(std::move(func)); }},
    {"reduce_branching_through_overcompute",
     [](PrimFunc func) { return ReduceBranchingThroughOvercompute(std::move(func), false); }},
    {"remove_assume", RemoveAssume},
    {"remove_store_undef", RemoveStoreUndef},
    {"remove_weight_layout_rewrite_block", RemoveWeightLayoutRewriteBlock},
    {"renormalize_split_pattern", RenormalizeSplitPattern},
    {"rewrite_unsafe_select", RewriteUnsafeSelect},
    {"simplify", SimplifyLets},
    {"storage_rewrite", [](PrimFunc func) { return StorageRewrite(std::move(func), {}); }},
    {"skip_assert", SkipAssert},
    {"storage_flatten", [](PrimFunc func) { return FlattenLegacy(std::move(func), 64); }},
    {"thread_sync", [](PrimFunc func) { return ThreadSync(std::move(func), "shared"); }},
    {"unify_thread_binding", UnifyThreadBinding},
    {"use_assume_to_reduce_branches", UseAssumeToReduceBranches},
};

const LowerPass kCpuPasses[] = {
    {"plan_and_update_buffer_allocation_location", PlanAndUpdateBufferAllocationLocation},
    {"rewrite_tensorize", RewriteTensorize},
    {"return_by_buffer", ReturnByBuffer},
    {"spell_out_calls", SpellOutCalls},
    {"lower_init_block", LowerInitBlock},
    {"convert_blocks_to_opaque", ConvertBlocksToOpaque, BlockForm::kNoInit},
    {"compact_buffer_allocation", CompactBufferAllocation},
    {"lower_match_buffer", LowerMatchBuffer},
    {"lower_opaque_block", LowerOpaqueBlock, BlockForm::kOpaque},
    {"simplify_loops", SimplifyLoops},
    {"arrange_register_tiles", ArrangeRegisterTiles},
    {"insert_hoist_if_then_else", HoistIfThenElse},
    {"skip_zero_terms", SkipZeroTerms},
    {"loop_partition", LoopPartition},
    {"flatten_buffer", FlattenBuffer},
    {"use_output_memory", UseOutputMemory},
    {"simplify_indices", SimplifyLoops},
    {"vectorize_loop", VectorizeLoop},
    {"transpose_tiles", TransposeTiles},
    {"unroll_loop", UnrollLoop},
    {"simplify_copies", SimplifyLoops},
    {"remove_no_op", RemoveNoOp},
    {"legalize_math", LegalizeMath},
    {"unique_names", UniqueNames},
};

const ModulePass kModulePasses[] = {
    {"extract_prim_func_constants", ExtractPrimFuncConstants},
    {"inline_private_functions", InlinePrivateFunctions},
    {"lower_device_kernel_launch", LowerDeviceKernelLaunch},
    {"make_packed_api", MakePackedAPI},
    {"make_unpacked_api", MakeUnpackedAPI},
    {"split_host_device", SplitHostDevice},
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

Status CheckTakes(std::string_view pass, BlockForm takes, const PrimFunc& func) {
  if (takes == BlockForm::kAny) return OkStatus();
  FormChecker checker(takes);
  checker(func.body);
  if (!checker.is_wrong) return OkStatus();
  const bool no_init = takes == BlockForm::kNoInit;
  return InvalidArgument(fmt::format("{} @{}: block \"{}\" {}; run {} before", pass, func.name, checker.wrong_block,
                                     no_init ? "has an init" : "has iter vars, an init or match buffers",
                                     no_init ? "lower_init_block" : "convert_blocks_to_opaque and lower_match_buffer"));
}

// The options of one pass.
class PassOptions {
 public:
  explicit PassOptions(const AttrMap& config) : pass_("PassContext"), options_(&config) {}
  PassOptions(const AttrMap& config, const char* pass) : pass_(pass) {
    const auto found = config.find(pass);
    if (found == config.end()) return;
    options_ = std::get_if<AttrMap>(&found->second);
    if (options_ == nullptr) status_ = InvalidArgument(fmt::format("PassContext: \"{}\" is no map of options", pass));
  }
  int64_t Int(const char* key, int64_t otherwise) {
    if (options_ == nullptr || !options_->contains(key)) return otherwise;
    const Attr& value = options_->at(key);
    if (const int64_t* number = std::get_if<int64_t>(&value)) return *number;
    if (const bool* flag = std::get_if<bool>(&value)) return *flag;
    status_ = InvalidArgument(fmt::format("PassContext: \"{}\" of \"{}\" is no number", key, pass_));
    return otherwise;
  }
  bool Bool(const char* key, bool otherwise) { return Int(key, otherwise) != 0; }
  const Status& status() const { return status_; }

 private:
  const char* pass_;
  const AttrMap* options_ = nullptr;
  Status status_;
};

StatusOr<PrimFunc> UnrollAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.UnrollLoop");
  const UnrollOptions unroll{.auto_max_step = options.Int("auto_max_step", 0),
                             .auto_max_depth = options.Int("auto_max_depth", 8),
                             .auto_max_extent = options.Int("auto_max_extent", 0),
                             .explicit_unroll = options.Bool("explicit_unroll", true)};
  RETURN_IF_ERROR(options.status());
  return UnrollLoopWith(std::move(func), unroll);
}

StatusOr<PrimFunc> PartitionAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.LoopPartition");
  const LoopPartitionOptions partition{
      .partition_const_loop = options.Bool("partition_const_loop", false),
      .no_unroll_loop_with_extent_one = options.Bool("no_unroll_loop_with_extent_one", false),
      .unroll_loop_with_partition_hint_no_interval =
          options.Bool("unroll_loop_with_partition_hint_no_interval", false)};
  RETURN_IF_ERROR(options.status());
  return PartitionLikelyLoops(std::move(func), partition);
}

StatusOr<PrimFunc> HoistAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.HoistIfThenElse");
  const bool across_threads = options.Bool("support_block_scope_hoisting", false);
  RETURN_IF_ERROR(options.status());
  return HoistAndSimplify(std::move(func), OfStatements(across_threads));
}

StatusOr<PrimFunc> DoubleBufferAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.InjectDoubleBuffer");
  const int64_t split_loop = options.Int("split_loop", 1);
  RETURN_IF_ERROR(options.status());
  return InjectDoubleBuffer(std::move(func), split_loop);
}

StatusOr<PrimFunc> MergeSharedAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config);
  const bool merges_static = options.Bool("tir.merge_static_smem", false);
  RETURN_IF_ERROR(options.status());
  return MergeSharedMemoryAllocations(std::move(func), merges_static);
}

StatusOr<PrimFunc> HoistExpressionAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.HoistExpression");
  const HoistOptions hoist{
      .conditionals = static_cast<int>(options.Int("hoisted_conditionals", hoisted_conditional::kAll)),
      .let_bindings = static_cast<int>(options.Int("hoisted_let_bindings", hoisted_let::kAll))};
  RETURN_IF_ERROR(options.status());
  return HoistAndSimplify(std::move(func), hoist);
}

StatusOr<PrimFunc> EliminateAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config);
  const bool identify_equivalent = options.Bool("tir.enable_equiv_terms_in_cse_tir", false);
  RETURN_IF_ERROR(options.status());
  return CommonSubexprElimTIR(std::move(func), identify_equivalent);
}

StatusOr<PrimFunc> FlattenLegacyAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config);
  const int64_t cache_line_bytes = options.Int("cache_line_size", 64);
  RETURN_IF_ERROR(options.status());
  return FlattenLegacy(std::move(func), cache_line_bytes);
}

StatusOr<PrimFunc> VectorizeAsTvm(PrimFunc func, const AttrMap& config) {
  const auto found = config.find("tir.disable_vectorize");
  const bool is_off = found != config.end() && found->second == Attr(true);
  if (is_off) return SkipVectorize(std::move(func));
  PassOptions options(config);
  VectorTarget target;
  if (config.contains("tir.enable_buffer_level_predication"))
    target.makes_predicates = options.Bool("tir.enable_buffer_level_predication", false);
  RETURN_IF_ERROR(options.status());
  const bool says_target = TargetOf(func.attrs) != nullptr;  // Else "target" is the current one.
  ASSIGN_OR_RETURN(const std::optional<TargetDescription> described, DescriptionOf(says_target ? func.attrs : config));
  if (described) target.name = described->ToString();
  target.has_scalable_vectors = described && HasScalableVectors(*described);
  return VectorizeLoopWithoutMasks(std::move(func), target);
}

StatusOr<PrimFunc> ProfileAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config);
  const ProfileOptions profile{.only_siblings = options.Bool("tir.instr_siblings", true),
                               .max_depth = options.Int("tir.lwp_max_depth", 0),
                               .min_height = options.Int("tir.lwp_min_height", 1),
                               .marks_function = !options.Bool("tir.lwp_disable_func_prof", false)};
  const bool begins_anew = options.Bool("tir.reset_start_id", false);
  RETURN_IF_ERROR(options.status());
  return MarkForProfiles(std::move(func), profile, begins_anew);
}

StatusOr<PrimFunc> StorageRewriteAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config);
  const std::string kind = TargetKind(func.attrs);
  const StorageRewriteOptions rewrite{.reuses = !options.Bool("tir.merge_static_smem", false),
                                      .same_type_only = kind == "vulkan" || kind == "webgpu"};
  RETURN_IF_ERROR(options.status());
  return StorageRewrite(std::move(func), rewrite);
}

StatusOr<PrimFunc> ReduceBranchingAsTvm(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.ReduceBranchingThroughOvercompute");
  const bool uses_dataflow = options.Bool("use_dataflow_analysis", false);
  RETURN_IF_ERROR(options.status());
  return ReduceBranchingThroughOvercompute(std::move(func), uses_dataflow);
}

StatusOr<PrimFunc> SimplifyWithOptions(PrimFunc func, const AttrMap& config) {
  PassOptions options(config, "tir.Simplify");
  const SimplifyExtensions extensions{
      .transitively_prove_inequalities = options.Bool("transitively_prove_inequalities", false),
      .convert_boolean_to_and_of_ors = options.Bool("convert_boolean_to_and_of_ors", false),
      .apply_constraints_to_boolean_branches = options.Bool("apply_constraints_to_boolean_branches", false)};
  RETURN_IF_ERROR(options.status());
  return SimplifyAsTvm(std::move(func), extensions);
}

// Programs put theirs before the first phase's, too.
const std::vector<std::string_view> kTvmLowerPhases[kNumLowerPhases] = {
    {},
    {"lower_cross_thread_reduction", "lower_init_block", "plan_and_update_buffer_allocation_location",
     "convert_blocks_to_opaque", "lift_thread_binding", "manifest_shared_memory_local_stage",
     "compact_buffer_allocation", "unify_thread_binding", "lower_match_buffer", "simplify", "inject_permuted_layout",
     "inject_software_pipeline", "lower_opaque_block", "flatten_buffer", "bf16_compute_legalize", "narrow_data_type",
     "simplify"},
    {"loop_partition", "vectorize_loop", "inject_virtual_thread", "inject_double_buffer", "storage_rewrite",
     "hoist_if_then_else", "unroll_loop"},
    {"renormalize_split_pattern", "simplify", "remove_no_op", "rewrite_unsafe_select", "common_subexpr_elim_tir"},
};

// What the first of them are for functions of te's stages.
const std::vector<std::string_view> kFirstPhaseOfStages = {"storage_flatten", "bf16_compute_legalize",
                                                           "narrow_data_type", "simplify"};

struct TvmPass {
  std::string_view name;
  StatusOr<PrimFunc> (*run)(PrimFunc func, const AttrMap& config);
  BlockForm takes = BlockForm::kAny;
};
const TvmPass kTvmPasses[] = {
    {"common_subexpr_elim_tir", EliminateAsTvm},
    {"compact_buffer_allocation",
     [](PrimFunc func, const AttrMap&) { return CompactBufferAllocationPlainly(std::move(func)); }},
    {"flatten_buffer",
     [](PrimFunc func, const AttrMap&) -> StatusOr<PrimFunc> { return FlattenBufferAndParams(std::move(func)); }},
    {"hoist_expression", HoistExpressionAsTvm},
    {"hoist_if_then_else", HoistAsTvm},
    {"inject_double_buffer", DoubleBufferAsTvm},
    {"instrument_profile_intrinsics", ProfileAsTvm},
    {"loop_partition", PartitionAsTvm},
    {"lower_match_buffer",
     [](PrimFunc func, const AttrMap&) -> StatusOr<PrimFunc> { return LowerMatchBufferStrictly(std::move(func)); }},
    {"lower_opaque_block",
     [](PrimFunc func, const AttrMap&) -> StatusOr<PrimFunc> { return LowerOpaqueBlockToAttrs(std::move(func)); },
     BlockForm::kOpaque},
    {"merge_shared_memory_allocations", MergeSharedAsTvm},
    {"reduce_branching_through_overcompute", ReduceBranchingAsTvm},
    {"simplify", SimplifyWithOptions},
    {"storage_flatten", FlattenLegacyAsTvm},
    {"storage_rewrite", StorageRewriteAsTvm},
    {"unroll_loop", UnrollAsTvm},
    {"vectorize_loop", VectorizeAsTvm},
};

}  // namespace

std::span<const LowerPass> CpuPasses() { return kCpuPasses; }
std::span<const LowerPass> OtherPasses() { return kOtherPasses; }
std::span<const ModulePass> ModulePasses() { return kModulePasses; }

std::vector<std::string_view> TvmLowerPhase(int phase, bool simple_mode, bool of_stages) {
  if (phase < 0 || phase >= kNumLowerPhases) return {};
  if (of_stages && phase == 1) return kFirstPhaseOfStages;
  std::vector<std::string_view> names = kTvmLowerPhases[phase];
  if (simple_mode) std::erase(names, "loop_partition");
  return names;
}

StatusOr<PrimFunc> Lower(PrimFunc func, const LowerOptions& options) {
  return LowerBy(kCpuPasses, std::move(func), options);
}

StatusOr<PrimFunc> LowerBy(std::span<const LowerPass> passes, PrimFunc func, const LowerOptions& options) {
  if (options.verify) RETURN_IF_ERROR(VerifyWellFormed(func));
  for (const LowerPass& pass : passes) {
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
        RETURN_IF_ERROR(CheckTakes(name, pass.takes, func));
        return pass.run(std::move(func));
      }
      known += fmt::format("{}{}", known.empty() ? "" : ", ", pass.name);
    }
  }
  return NotFound(fmt::format("run pass \"{}\": no such pass; known: {}", name, known));
}

StatusOr<PrimFunc> RunPassAsTvm(std::string_view name, PrimFunc func, const AttrMap& config) {
  const auto pass = std::find_if(std::begin(kTvmPasses), std::end(kTvmPasses),
                                 [&](const TvmPass& each) { return each.name == name; });
  func.body = JoinAllocations(func.body);  // What our passes know best.
  if (pass == std::end(kTvmPasses)) {
    ASSIGN_OR_RETURN(func, RunPass(name, std::move(func)));
  } else {
    RETURN_IF_ERROR(CheckTakes(name, pass->takes, func));
    ASSIGN_OR_RETURN(func, pass->run(std::move(func), config));
  }
  func.body = SplitAllocBuffers(func.body);
  return func;
}

StatusOr<IRModule> RunPassAsTvm(std::string_view name, IRModule module, const AttrMap& config) {
  for (const ModulePass& pass : ModulePasses())
    if (pass.name == name) return pass.run(std::move(module));
  for (PrimFunc& func : module.prim_funcs) {
    ASSIGN_OR_RETURN(func, RunPassAsTvm(name, std::move(func), config));
  }
  return module;
}

}  // namespace lathe
