#include "compiler/transform/manifest_shared_memory_local_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr char kLocalStage[] = "tir.manifest_shared_memory_local_stage";

bool IsMarked(const BlockRealize& realize) { return realize.block->annotations.contains(kLocalStage); }

// Loops, each the only child of the one before, and what the last one holds.
struct StageNest {
  std::vector<For> loops;
  Stmt innermost;
};
StageNest StageNestAt(const Stmt& stmt) {
  StageNest nest{{}, stmt};
  while (const For* loop = nest.innermost.As<For>()) {
    nest.loops.push_back(*loop);
    nest.innermost = Stmt(loop->body);
  }
  return nest;
}
Stmt InCopyLoops(const std::vector<For>& loops, Stmt body) {
  for (size_t i = loops.size(); i-- > 0;) {
    For loop = loops[i];
    loop.body = std::move(body);
    body = std::move(loop);
  }
  return body;
}

class StageMaker : public StmtExprMutator {
 public:
  Status status;

 protected:
  Block VisitBlock(const Block& self) override {
    const std::vector<Buffer>* const outer_memory = memory_;
    std::vector<Buffer> outer_stages;
    const int outer_loops = num_loops_;
    memory_ = &self->alloc_buffers;
    std::swap(stages_, outer_stages);
    num_loops_ = 0;
    Block block = StmtExprMutator::VisitBlock(self);
    if (!stages_.empty()) {
      std::vector<Buffer>& memory = block.Mutable().alloc_buffers;
      memory.insert(memory.end(), stages_.begin(), stages_.end());
    }
    memory_ = outer_memory;
    std::swap(stages_, outer_stages);
    num_loops_ = outer_loops;
    return block;
  }
  Stmt VisitStmt(const Stmt& stmt) override {
    const StageNest nest = StageNestAt(stmt);
    const BlockRealize* realize = nest.innermost.As<BlockRealize>();
    if (realize != nullptr && IsMarked(*realize)) return InTwoStages(stmt, nest, *realize);
    const bool is_loop = stmt.As<For>() != nullptr;
    num_loops_ += is_loop ? 1 : 0;
    Stmt visited = StmtExprMutator::VisitStmt(stmt);
    num_loops_ -= is_loop ? 1 : 0;
    return visited;
  }

 private:
  Stmt Refuse(const Stmt& self, const Block& block, const char* reason) {
    status = InvalidArgument(fmt::format("ManifestSharedMemoryLocalStage block \"{}\": {}", block->name, reason));
    return self;
  }

  Stmt InTwoStages(const Stmt& self, const StageNest& nest, const BlockRealize& realize) {
    const Block& block = realize.block;
    const BufferStore* store = block->body.As<BufferStore>();
    const StatusOr<StorageScope> scope = ParseStorageScope(store == nullptr ? "" : ScopeOf(store->buffer->data));
    if (store == nullptr || !scope.ok() || scope->rank != StorageRank::kShared || store->predicate)
      return Refuse(self, block, "its body is not one store to shared memory");
    if (!block->iter_vars.empty()) return Refuse(self, block, "it has iter vars; run ConvertBlocksToOpaque before");
    if (num_loops_ > 0) return Refuse(self, block, "a loop around it holds other statements");
    const auto is_plain = [](const For& loop) {
      return loop.kind == ForKind::kSerial || loop.kind == ForKind::kVectorized;
    };
    if (!std::all_of(nest.loops.begin(), nest.loops.end(), is_plain))
      return Refuse(self, block, "a loop around it is neither serial nor vectorized");
    const auto is_memory = [&](const Buffer& buffer) { return buffer.same_as(store->buffer); };
    if (memory_ == nullptr || std::none_of(memory_->begin(), memory_->end(), is_memory))
      return Refuse(self, block, "the shared memory is not of the block around the loops");
    return MakeSeq(Stages(nest, realize, *store));
  }

  std::vector<Stmt> Stages(const StageNest& nest, const BlockRealize& realize, const BufferStore& store) {
    std::vector<Expr> shape, place;
    std::vector<Range> region;
    for (const For& loop : nest.loops) {
      shape.push_back(loop.extent);
      place.push_back(loop.loop_var - loop.min);
      region.push_back({place.back(), IntConst(loop.loop_var.dtype(), 1)});
    }
    const Buffer stage = MakeBuffer(store.buffer->name + "_local", shape, store.buffer->dtype, "local");
    stages_.push_back(stage);
    BlockNode load = *realize.block, copy = *realize.block;
    load.name.clear();
    load.annotations.clear();
    load.writes = {{stage, region}};
    load.body = MakeStore(stage, store.value, place);
    copy.annotations.erase(kLocalStage);
    BufferStore from_stage = store;
    from_stage.value = Load(stage, place);
    copy.body = from_stage;
    const auto realized = [&](BlockNode node) { return BlockRealize{{}, realize.predicate, Block(std::move(node))}; };
    return {Clone(InCopyLoops(nest.loops, realized(std::move(load)))),
            InCopyLoops(nest.loops, realized(std::move(copy)))};
  }

  const std::vector<Buffer>* memory_ = nullptr;  // Of the block around.
  std::vector<Buffer> stages_;                   // To be added to it.
  int num_loops_ = 0;                            // Between it and here.
};

}  // namespace

StatusOr<PrimFunc> ManifestSharedMemoryLocalStage(PrimFunc func) {
  StageMaker maker;
  Stmt body = maker(func.body);
  RETURN_IF_ERROR(maker.status);
  func.body = std::move(body);
  return func;
}

}  // namespace lathe
