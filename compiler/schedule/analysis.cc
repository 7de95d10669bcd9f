#include "compiler/schedule/analysis.h"

#include <fmt/core.h>

#include "compiler/arith/iter_map.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"

namespace lathe {

bool Writes(const BlockNode& block, const Buffer& buffer) {
  return std::any_of(block.writes.begin(), block.writes.end(),
                     [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
}
bool Reads(const BlockNode& block, const Buffer& buffer) {
  return std::any_of(block.reads.begin(), block.reads.end(),
                     [&](const BufferRegion& r) { return r.buffer.same_as(buffer); });
}
bool Allocates(const BlockNode& scope, const Buffer& buffer) {
  return std::any_of(scope.alloc_buffers.begin(), scope.alloc_buffers.end(),
                     [&](const Buffer& b) { return b.same_as(buffer); });
}
bool IsSpatial(const BlockNode& block) {
  return std::all_of(block.iter_vars.begin(), block.iter_vars.end(),
                     [](const IterVar& iter) { return iter.kind == IterKind::kSpatial; });
}

namespace {

std::vector<int> SiblingsOf(const Schedule& schedule, int block) {
  return schedule.ChildBlocksOf(schedule.ScopeOf(block));
}

WhyNot WhyNotSoleWriter(const Schedule& schedule, int block) {
  for (int other : SiblingsOf(schedule, block)) {
    if (other == block) continue;
    for (const BufferRegion& write : schedule.BlockOf(block).writes) {
      if (Writes(schedule.BlockOf(other), write.buffer)) {
        return fmt::format("buffer \"{}\" is also written by block \"{}\"", write.buffer->name,
                           schedule.BlockOf(other).name);
      }
    }
  }
  return "";
}

}  // namespace

WhyNot WhyNotComplete(const Schedule& schedule, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.ScopeOf(block) < 0) return "it is the root block";
  if (!IsSpatial(node)) return "it has an iter var that is not data-parallel";
  for (const BufferRegion& write : node.writes) {
    if (Reads(node, write.buffer)) return fmt::format("it reads and writes buffer \"{}\"", write.buffer->name);
  }
  return WhyNotSoleWriter(schedule, block);
}

WhyNot WhyNotReduction(const Schedule& schedule, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  if (schedule.ScopeOf(block) < 0) return "it is the root block";
  if (!node.init) return "it has no init";
  std::vector<const ExprNode*> reduce_vars;
  for (const IterVar& iter : node.iter_vars) {
    if (iter.kind == IterKind::kReduce)
      reduce_vars.push_back(iter.var.get());
    else if (iter.kind != IterKind::kSpatial)
      return fmt::format("iter var \"{}\" is neither data-parallel nor a reduction", iter.var.name());
  }
  const auto is_reduce = [&](const ExprNode* var) {
    return std::find(reduce_vars.begin(), reduce_vars.end(), var) != reduce_vars.end();
  };
  for (const BufferRegion& write : node.writes) {
    for (const Range& range : write.region) {
      if (UsesVar(range.min, is_reduce))
        return fmt::format("a reduction iter var indexes its output \"{}\"", write.buffer->name);
    }
  }
  return WhyNotSoleWriter(schedule, block);
}

WhyNot WhyNotSchedulable(const Schedule& schedule, int block) {
  const BlockNode& node = schedule.BlockOf(block);
  const WhyNot why = node.init ? WhyNotReduction(schedule, block) : WhyNotComplete(schedule, block);
  if (!why.empty()) return fmt::format("block \"{}\" is neither complete nor a reduction: {}", node.name, why);
  Analyzer analyzer;
  IterDomain loops;
  for (int row : schedule.LoopsOf(block)) {
    const For& loop = schedule.LoopOf(row);
    loops.emplace_back(loop.loop_var, Range{loop.min, loop.extent});
  }
  if (!IsAffineBinding(schedule.RealizeOf(block), loops, analyzer))
    return fmt::format("block \"{}\" has no affine binding", node.name);
  return "";
}

bool IsTriviallyBound(const Schedule& schedule, int block) {
  const BlockRealize& realize = schedule.RealizeOf(block);
  std::vector<const ExprNode*> seen;
  for (const Expr& value : realize.iter_values) {
    if (!IsVar(value) || std::find(seen.begin(), seen.end(), value.get()) != seen.end()) return false;
    seen.push_back(value.get());
  }
  return true;
}

std::vector<int> ProducersOf(const Schedule& schedule, int block) {
  std::vector<int> producers;
  for (int other : SiblingsOf(schedule, block)) {
    if (other == block) continue;
    const auto& reads = schedule.BlockOf(block).reads;
    if (std::any_of(reads.begin(), reads.end(),
                    [&](const BufferRegion& r) { return Writes(schedule.BlockOf(other), r.buffer); }))
      producers.push_back(other);
  }
  return producers;
}

std::vector<int> ConsumersOf(const Schedule& schedule, int block) {
  std::vector<int> consumers;
  for (int other : SiblingsOf(schedule, block)) {
    if (other == block) continue;
    const auto& writes = schedule.BlockOf(block).writes;
    if (std::any_of(writes.begin(), writes.end(),
                    [&](const BufferRegion& w) { return Reads(schedule.BlockOf(other), w.buffer); }))
      consumers.push_back(other);
  }
  return consumers;
}

bool IsOutputBlock(const Schedule& schedule, int block) {
  const BlockNode& scope = schedule.BlockOf(schedule.ScopeOf(block));
  const auto& writes = schedule.BlockOf(block).writes;
  return std::any_of(writes.begin(), writes.end(), [&](const BufferRegion& w) { return !Allocates(scope, w.buffer); });
}

void BindOuterLoops(const Schedule& schedule, int row, bool itself, Analyzer& analyzer) {
  std::vector<int> loops = schedule.LoopsOf(row);
  if (itself) loops.push_back(row);
  for (int loop : loops)
    analyzer.Bind(schedule.LoopOf(loop).loop_var, Range{schedule.LoopOf(loop).min, schedule.LoopOf(loop).extent});
}

size_t ChildIndexTowards(const Schedule& schedule, int loop, int row) {
  int child = row;
  while (schedule.ParentOf(child) != loop) child = schedule.ParentOf(child);
  const Stmt& body = schedule.IsLoop(loop) ? schedule.LoopOf(loop).body : schedule.BlockOf(loop).body;
  const Seq* seq = body.As<Seq>();
  if (seq == nullptr) return 0;
  for (size_t i = 0; i < seq->stmts.size(); ++i) {
    if (seq->stmts[i].same_as(schedule.StmtOf(child))) return i;
  }
  return 0;  // Below a branch or let: the body is that one statement.
}

void RecomputeRegions(BlockNode& block) {
  AccessRegions regions = DetectAccessRegions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
}

}  // namespace lathe
