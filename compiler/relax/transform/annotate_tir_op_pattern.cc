#include "compiler/relax/transform/annotate_tir_op_pattern.h"

#include <algorithm>

#include "compiler/ir/contraction.h"
#include "compiler/ir/visitor.h"

namespace lathe::relax {

std::vector<const BlockNode*> LeafBlocks(const PrimFunc& func) {
  std::vector<const BlockNode*> blocks;
  const std::function<void(const Stmt&)> collect = [&](const Stmt& stmt) {
    const BlockRealize* realize = stmt.As<BlockRealize>();
    if (realize != nullptr && !realize->block->iter_vars.empty()) blocks.push_back(realize->block.get());
    if (realize != nullptr && realize->block->iter_vars.empty() && realize->block->name != "root")
      blocks.push_back(realize->block.get());
  };
  PostOrderVisit(func.body, collect);
  return blocks;
}

namespace {

bool IsReduction(const BlockNode& block) {
  return std::any_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kReduce; });
}

// Indices that are the iter vars `iters` in order, some left out or replaced by 0.
bool IsSubsequence(const std::vector<PrimExpr>& indices, const std::vector<IterVar>& iters) {
  size_t next = 0;
  for (const PrimExpr& index : indices) {
    if (IsConstInt(index, 0)) continue;
    while (next < iters.size() && !iters[next].var.same_as(index)) ++next;
    if (next++ >= iters.size()) return false;
  }
  return true;
}

bool IsIdentity(const std::vector<PrimExpr>& indices, const std::vector<IterVar>& iters) {
  if (indices.size() != iters.size()) return false;
  for (size_t i = 0; i < iters.size(); ++i) {
    if (!iters[i].var.same_as(indices[i])) return false;
  }
  return true;
}

OpPatternKind PatternOfSpatial(const BlockNode& block) {
  const BufferStore* store = block.body.As<BufferStore>();
  if (store == nullptr || !IsIdentity(store->indices, block.iter_vars)) return OpPatternKind::kOpaque;
  OpPatternKind kind = OpPatternKind::kElemWise;
  const std::function<void(const PrimExpr&)> look = [&](const PrimExpr& e) {
    const BufferLoad* load = e.As<BufferLoad>();
    if (load == nullptr || IsIdentity(load->indices, block.iter_vars)) return;
    kind = std::max(
        kind, IsSubsequence(load->indices, block.iter_vars) ? OpPatternKind::kBroadcast : OpPatternKind::kInjective);
  };
  PostOrderVisit(store->value, look);
  return kind;
}

// With factors of the type of the sum.
bool IsContraction(const BlockNode& block) {
  const std::optional<Contraction> contraction = ContractionOf(block);
  return contraction && contraction->is_plain();
}

}  // namespace

OpPatternKind AnalyzeOpPattern(const PrimFunc& func) {
  OpPatternKind kind = OpPatternKind::kElemWise;
  int reductions = 0;
  bool is_contraction = false;
  const std::vector<const BlockNode*> blocks = LeafBlocks(func);
  for (const BlockNode* block : blocks) {
    if (IsReduction(*block)) {
      ++reductions;
      is_contraction = IsContraction(*block) && block == blocks.back();
    } else {
      kind = std::max(kind, PatternOfSpatial(*block));
    }
  }
  if (reductions == 0) return blocks.size() == 1 ? kind : std::max(kind, OpPatternKind::kInjective);
  if (reductions > 1 || kind == OpPatternKind::kOpaque) return OpPatternKind::kOpaque;
  return is_contraction ? OpPatternKind::kOutEWiseFusable : OpPatternKind::kCommReduce;
}

OpPatternKind OpPatternOf(const PrimFunc& func) {
  return static_cast<OpPatternKind>(IntAttr(func.attrs, kOpPatternAttr, static_cast<int64_t>(OpPatternKind::kOpaque)));
}

IRModule AnnotateTIROpPattern(IRModule module) {
  for (PrimFunc& func : module.prim_funcs)
    func.attrs.try_emplace(kOpPatternAttr, static_cast<int64_t>(AnalyzeOpPattern(func)));
  return module;
}

}  // namespace lathe::relax
