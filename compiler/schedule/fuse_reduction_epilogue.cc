#include "compiler/schedule/fuse_reduction_epilogue.h"

#include <fmt/core.h>

#include "compiler/ir/structural.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kFuseEpilogue = "fuse_reduction_epilogue";

// `load` + `other`, in this order or the other way round.
struct SumWith {
  BufferLoad load;
  Expr other;
  bool is_load_first;
};

std::optional<SumWith> SumWithLoad(const Expr& value, const Buffer& buffer) {
  const Binary* sum = value.As<Binary>();
  if (sum == nullptr || sum->op != BinaryOp::kAdd) return std::nullopt;
  for (const bool is_first : {true, false}) {
    const BufferLoad* load = (is_first ? sum->a : sum->b).As<BufferLoad>();
    if (load != nullptr && load->buffer.same_as(buffer)) return SumWith{*load, is_first ? sum->b : sum->a, is_first};
  }
  return std::nullopt;
}

bool LoadsFrom(const Expr& e, const Buffer& buffer) {
  bool loads = false;
  PostOrderVisit(e, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    loads = loads || (load != nullptr && MayAlias(load->buffer, buffer));
  });
  return loads;
}

// The block is alone with its loops: no condition, no predicate, nothing of its own.
Status CheckPlainBlock(const Schedule& schedule, int row) {
  const BlockRealize& realize = schedule.RealizeOf(row);
  RETURN_IF_ERROR(CheckIsolated(schedule, row, kFuseEpilogue));
  const bool is_plain = IsConstInt(realize.predicate, 1) && realize.block->alloc_buffers.empty() &&
                        realize.block->match_buffers.empty() && realize.block->writes.size() == 1 &&
                        !IsConditional(schedule, schedule.ScopeOf(row), row) && !schedule.IsHiding(row);
  if (!is_plain) return schedule.Error(kFuseEpilogue, row, "it has a condition, buffers of its own or several results");
  if (const WhyNot why = WhyNotWholeDomain(schedule, row); !why.empty())
    return schedule.Error(kFuseEpilogue, row, fmt::format("its loops do not run over its whole domain: {}", why));
  return OkStatus();
}

// The term that a sum from 0 adds in each step.
StatusOr<SumWith> SumOf(const Schedule& schedule, int row) {
  const BlockNode& node = schedule.BlockOf(row);
  if (const WhyNot why = WhyNotReduction(schedule, row); !why.empty())
    return schedule.Error(kFuseEpilogue, row, fmt::format("it is no reduction block: {}", why));
  if (const WhyNot why = WhyNotEachStepOnce(schedule, row); !why.empty())
    return schedule.Error(kFuseEpilogue, row, fmt::format("its loops are no whole reduction: {}", why));
  const BufferStore *init = node.init->As<BufferStore>(), *update = node.body.As<BufferStore>();
  const auto sum = update != nullptr ? SumWithLoad(update->value, update->buffer) : std::nullopt;
  const auto is_float_zero = [](const Expr& e) {
    return e.dtype().is_float() && StructuralEqual(e, FloatConst(e.dtype(), 0));
  };
  const bool is_zero = init != nullptr && (IsConstInt(init->value, 0) || is_float_zero(init->value));
  const bool is_sum =
      is_zero && sum && StructuralEqual(Load(update->buffer, update->indices), Load(update->buffer, sum->load.indices));
  if (!is_sum) return schedule.Error(kFuseEpilogue, row, "it is no sum from 0 in one store");
  return *sum;
}

// What the iter vars of the epilogue are in the reduction.
StatusOr<VarMap> MatchIters(const Schedule& schedule, int reduction, int epilogue, const std::vector<Expr>& read) {
  const std::vector<Expr>& made = schedule.BlockOf(reduction).body.As<BufferStore>()->indices;
  const auto domain_of = [&](int row, const Expr& var) -> const Range* {
    for (const IterVar& iter : schedule.BlockOf(row).iter_vars)
      if (iter.var.same_as(var)) return &iter.domain;
    return nullptr;
  };
  VarMap iters;
  for (size_t d = 0; d < made.size(); ++d) {
    const Range *mine = domain_of(epilogue, read[d]), *theirs = domain_of(reduction, made[d]);
    const bool is_same = mine != nullptr && theirs != nullptr && StructuralEqual(mine->min, theirs->min) &&
                         StructuralEqual(mine->extent, theirs->extent) && iters.emplace(read[d].get(), made[d]).second;
    if (!is_same)
      return schedule.Error(
          kFuseEpilogue, epilogue,
          fmt::format("dimension {} of what it reads is no iter var over the domain of the reduction", d));
  }
  if (iters.size() != schedule.BlockOf(epilogue).iter_vars.size())
    return schedule.Error(kFuseEpilogue, epilogue, "an iter var does not index what it reads");
  return iters;
}

Block Fused(const BlockNode& reduction, const BlockNode& epilogue, const SumWith& step, const SumWith& last,
            const VarMap& iters) {
  const BufferStore& old = *epilogue.body.As<BufferStore>();
  std::vector<Expr> indices;
  for (const Expr& index : old.indices) indices.push_back(Substitute(index, iters));
  BlockNode node = reduction;
  const Expr sum = Load(old.buffer, indices);
  node.init = MakeStore(old.buffer, Substitute(last.other, iters), indices);
  node.body = MakeStore(old.buffer, step.is_load_first ? sum + step.other : step.other + sum, indices);
  node.reads.clear();
  for (BufferRegion read : epilogue.reads)
    if (!read.buffer.same_as(last.load.buffer)) node.reads.push_back({read.buffer, RegionWith(read.region, iters)});
  node.reads.insert(node.reads.end(), reduction.reads.begin(), reduction.reads.end());
  node.writes = RegionsWith(epilogue.writes, iters);
  return Block(std::move(node));
}

// Nobody else has to do with what goes from one to the other, and nothing between them with either.
Status CheckBetween(const Schedule& schedule, int reduction, int epilogue, const Buffer& sum, const Buffer& result) {
  if (ConsumersOf(schedule, reduction) != std::vector<int>{epilogue} || IsOutputBlock(schedule, reduction))
    return schedule.Error(kFuseEpilogue, reduction,
                          fmt::format("what it writes, \"{}\", is not for block \"{}\" alone", sum->name,
                                      schedule.BlockOf(epilogue).name));
  if (Reads(schedule.BlockOf(reduction), result) || schedule.Scope(schedule.ScopeOf(epilogue)).IsWrittenOutside(result))
    return schedule.Error(kFuseEpilogue, reduction, fmt::format("buffer \"{}\" is used by others", result->name));
  for (const BufferRegion& read : schedule.BlockOf(epilogue).reads) {
    if (read.buffer.same_as(sum)) continue;
    for (int writer : schedule.Scope(schedule.ScopeOf(epilogue)).WritersOf(read.buffer))
      if (!IsBefore(schedule, writer, reduction) || schedule.IsLoop(CommonAncestor(schedule, writer, reduction)))
        return schedule.Error(
            kFuseEpilogue, epilogue,
            fmt::format("buffer \"{}\", which it reads, is not made before the reduction begins", read.buffer->name));
  }
  if (const WhyNot why = WhyNotMovable(schedule, epilogue, reduction, Way::kUp); !why.empty())
    return schedule.Error(kFuseEpilogue, epilogue, why);
  return OkStatus();
}

}  // namespace

Status FuseReductionEpilogue(Schedule& schedule, BlockRV reduction_rv, BlockRV epilogue_rv) {
  ASSIGN_OR_RETURN(const int reduction, schedule.RowOf(reduction_rv));
  ASSIGN_OR_RETURN(const int epilogue, schedule.RowOf(epilogue_rv));
  const int scope = schedule.ScopeOf(reduction);
  if (scope < 0 || reduction == epilogue || schedule.ScopeOf(epilogue) != scope)
    return schedule.Error(kFuseEpilogue, reduction, "it and the epilogue are no two blocks of one scope");
  for (int row : {reduction, epilogue}) RETURN_IF_ERROR(CheckPlainBlock(schedule, row));
  ASSIGN_OR_RETURN(const SumWith step, SumOf(schedule, reduction));
  if (const WhyNot why = WhyNotComplete(schedule, epilogue); !why.empty())
    return schedule.Error(kFuseEpilogue, epilogue, fmt::format("it is no complete block: {}", why));
  const BufferStore* store = schedule.BlockOf(epilogue).body.As<BufferStore>();
  const auto last = store != nullptr ? SumWithLoad(store->value, step.load.buffer) : std::nullopt;
  if (!last || LoadsFrom(last->other, step.load.buffer))
    return schedule.Error(kFuseEpilogue, epilogue,
                          fmt::format("it does not add to what block \"{}\" makes, once, in one store",
                                      schedule.BlockOf(reduction).name));
  RETURN_IF_ERROR(CheckBetween(schedule, reduction, epilogue, step.load.buffer, store->buffer));
  ASSIGN_OR_RETURN(const VarMap iters, MatchIters(schedule, reduction, epilogue, last->load.indices));

  BlockRealize fused = schedule.RealizeOf(reduction);
  fused.block = Fused(schedule.BlockOf(reduction), schedule.BlockOf(epilogue), step, *last, iters);
  const Stmt sum = schedule.StmtOf(reduction), gone = schedule.StmtOf(epilogue);
  const BlockRealize& around = schedule.RealizeOf(scope);
  Stmt body = *RewriteTree(around.block->body, [&](const Stmt& stmt) -> Replacement {
    if (stmt.same_as(gone)) return std::vector<Stmt>{};
    if (stmt.same_as(sum)) return std::vector<Stmt>{fused};
    return std::nullopt;
  });
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, scope, WithBody(around, std::move(body)), schedule.LoopsOf(reduction),
                                    kFuseEpilogue, reduction, {{reduction, fused.block}}));
  schedule.Record("FuseReductionEpilogue", {reduction_rv, epilogue_rv}, {}, {});
  return OkStatus();
}

}  // namespace lathe
