#include "compiler/schedule/rolling_buffer.h"

#include <fmt/core.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/buffer_site.h"
#include "compiler/schedule/replace_buffer.h"
#include "compiler/script/complete.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kRollingBuffer = "rolling_buffer";

// Along one dimension of the buffer, the loop that moves the tile, and how many of a tile's elements were in the one
// before; nullopt: none.
struct Overlap {
  int loop;
  int64_t count;
};
struct Ring {
  Buffer from, to;
  int block;
  size_t axis;
  Expr extent;
  std::vector<std::optional<Overlap>> overlaps;  // By dimension.
};

// a / c or a * c for a constant c: a and c; nullopt: it is none.
std::optional<std::pair<Expr, int64_t>> ByConstant(const Expr& e, BinaryOp op) {
  const auto* binary = e.As<Binary>();
  if (binary == nullptr || binary->op != op || AsIntConst(binary->b) == nullptr) return std::nullopt;
  return std::pair(binary->a, *AsIntConst(binary->b));
}

// The loop that moves a tile which begins at `min`, and how far at most; nullopt: none or in another way.
std::optional<std::pair<const ExprNode*, int64_t>> StepOf(const Expr& min) {
  const auto [over, divisor] = ByConstant(min, BinaryOp::kFloorDiv).value_or(std::pair(min, int64_t{1}));
  const auto [var, stride] = ByConstant(over, BinaryOp::kMul).value_or(std::pair(over, int64_t{1}));
  if (!IsVar(var) || stride < 1 || divisor < 1) return std::nullopt;
  return std::pair(var.get(), (stride + divisor - 1) / divisor);
}

// The innermost loop or block around the block and everybody who reads the buffer.
int AroundUses(const Schedule& schedule, int block, const Buffer& buffer) {
  int above = schedule.ParentOf(block);
  for (int reader : schedule.Scope(schedule.ScopeOf(block)).ReadersOf(buffer))
    while (!schedule.IsAncestor(above, reader)) above = schedule.ParentOf(above);
  return above;
}

// What is made in an iteration is read in it, by blocks.
Status CheckReaders(const Schedule& schedule, int block, int around, const Buffer& buffer) {
  const BlockScope& scope = schedule.Scope(schedule.ScopeOf(block));
  if (scope.WritersOf(buffer).size() != 1 || !scope.RowsThatReadOutside(buffer).empty())
    return schedule.Error(kRollingBuffer, block,
                          fmt::format("buffer \"{}\" has another writer, or is read outside of blocks", buffer->name));
  if (IsConditional(schedule, around, block))
    return schedule.Error(kRollingBuffer, block, "an if, while or let around it may keep it from making a tile");
  const Analyzer analyzer = KnowingLoops(schedule, around);
  for (int reader : scope.ReadersOf(buffer)) {
    if (IsCoveredWithin(schedule, around, block, reader, buffer, analyzer)) continue;
    return schedule.Error(kRollingBuffer, reader,
                          fmt::format("it may read elements of \"{}\" that are not made in the same iteration of "
                                      "loop \"{}\"",
                                      buffer->name, schedule.LoopOf(around).loop_var.name()));
  }
  return OkStatus();
}

// Whether each element that the block writes is one value, however it moves through a ring.
bool MakesOneValuePerElement(const BlockNode& node) {
  const auto is_index = [](const Range& range, const Var& var) {
    return ByConstant(range.min, BinaryOp::kFloorMod).value_or(std::pair(range.min, int64_t{1})).first.same_as(var);
  };
  return std::all_of(node.iter_vars.begin(), node.iter_vars.end(), [&](const IterVar& iter) {
    if (iter.kind == IterKind::kReduce || IsConstInt(iter.domain.extent, 1)) return true;
    return std::all_of(node.writes.begin(), node.writes.end(), [&](const BufferRegion& write) {
      return std::any_of(write.region.begin(), write.region.end(),
                         [&](const Range& range) { return is_index(range, iter.var); });
    });
  });
}

// An element that is not computed again would have had the same value.
Status CheckInputsStay(const Schedule& schedule, int block, int ring_loop) {
  std::vector<int> makers{block};
  for (const BufferRegion& read : schedule.BlockOf(block).reads)
    for (int writer : schedule.Scope(schedule.ScopeOf(block)).WritersOf(read.buffer))
      if (writer != block && schedule.IsAncestor(ring_loop, writer)) makers.push_back(writer);
  for (int maker : makers) {
    const BlockNode& node = schedule.BlockOf(maker);
    const bool updates = !node.init && std::any_of(node.writes.begin(), node.writes.end(),
                                                   [&](const auto& write) { return Reads(node, write.buffer); });
    if (updates || !MakesOneValuePerElement(node))
      return schedule.Error(kRollingBuffer, maker, "it is not known to give each element one value only");
  }
  return OkStatus();
}

// How the tiles of dimension `d` lie over each other; `loops` are those around.
StatusOr<std::optional<Overlap>> OverlapOf(const Schedule& schedule, int block, const BufferRegion& write, size_t d,
                                           const Range& tile, const std::vector<int>& loops) {
  if (AsIntConst(tile.min) != nullptr) return std::optional<Overlap>();
  const auto step = StepOf(tile.min);
  const int64_t* extent = AsIntConst(tile.extent);
  const auto at = std::find_if(loops.begin(), loops.end(),
                               [&](int loop) { return step && schedule.LoopOf(loop).loop_var.get() == step->first; });
  if (at == loops.end() || extent == nullptr)
    return schedule.Error(
        kRollingBuffer, block,
        fmt::format("dimension {} of \"{}\" does not move with one loop, as i * 4 does, over a tile of "
                    "constant size",
                    d, write.buffer->name));
  if (*extent <= step->second) return std::optional<Overlap>();
  const BlockNode& node = schedule.BlockOf(block);
  const bool is_own = d < node.iter_vars.size() && write.region[d].min.same_as(node.iter_vars[d].var) &&
                      IsConstInt(write.region[d].extent, 1);
  if (!is_own || !IsConstInt(schedule.LoopOf(*at).min, 0))
    return schedule.Error(
        kRollingBuffer, block,
        fmt::format("iter var {} is not the index of dimension {} of \"{}\", or its loop does not start at 0", d, d,
                    write.buffer->name));
  return std::optional(Overlap{*at, *extent - step->second});
}

// Tiles that overlap in one dimension stay where they are in all others: what lies over each other was made before.
Status CheckMovesOneDimension(const Schedule& schedule, const Ring& ring, const std::vector<Range>& tile) {
  for (size_t d = 0; d < tile.size(); ++d) {
    if (!ring.overlaps[d]) continue;
    const Var& var = schedule.LoopOf(ring.overlaps[d]->loop).loop_var;
    for (size_t other = 0; other < tile.size(); ++other)
      if (other != d && UsesVar(tile[other].min, var.get()))
        return schedule.Error(kRollingBuffer, ring.block,
                              fmt::format("loop \"{}\" moves the tiles of \"{}\" in dimensions {} and {} at once",
                                          var.name(), ring.from->name, d, other));
  }
  return OkStatus();
}

// The bounds that no loop moves: nobody ever touches what is behind them.
std::vector<Expr> FixedOf(const std::vector<Expr>& bounds, const Schedule& schedule, const std::vector<int>& loops) {
  std::vector<Expr> fixed;
  std::copy_if(bounds.begin(), bounds.end(), std::back_inserter(fixed), [&](const Expr& bound) {
    return std::none_of(loops.begin(), loops.end(),
                        [&](int loop) { return UsesVar(bound, schedule.LoopOf(loop).loop_var.get()); });
  });
  return fixed;
}

// A tile has no holes where the next one counts on it.
Status CheckMakesWholeTile(const Schedule& schedule, int block, const Buffer& buffer, int around,
                           const std::vector<Range>& tile, const Analyzer& analyzer) {
  const std::vector<int> loops = LoopsDownTo(schedule, around);
  const std::vector<Range> full = FullRegion(buffer).region;
  for (const GuardedRegion& made : WrittenForCertain(schedule, around, block, buffer, analyzer)) {
    GuardedRegion wanted = WholeBox(tile);
    for (size_t d = 0; d < tile.size(); ++d) {
      wanted.from[d] = FixedOf(made.from[d], schedule, loops);
      wanted.below[d] = FixedOf(made.below[d], schedule, loops);
    }
    if (made.conditions.empty() && Covers(made, wanted, full, analyzer)) return OkStatus();
  }
  return schedule.Error(kRollingBuffer, block,
                        fmt::format("it is not known to write every element of a tile of \"{}\"", buffer->name));
}

// The ring is along the outermost of the loops; from there to `around` they run in order.
StatusOr<Ring> FindRing(const Schedule& schedule, int block, const BufferRegion& write, int around) {
  const Analyzer analyzer = KnowingLoops(schedule, around);
  const std::vector<Range> tile = RegionAt(schedule, around, block, write, analyzer);
  const std::vector<int> loops = LoopsDownTo(schedule, around);
  Ring ring{.from = write.buffer, .to = write.buffer, .block = block, .axis = tile.size(), .extent = 0};
  auto ring_at = loops.end();
  for (size_t d = 0; d < tile.size(); ++d) {
    ASSIGN_OR_RETURN(const std::optional<Overlap> overlap, OverlapOf(schedule, block, write, d, tile[d], loops));
    ring.overlaps.push_back(overlap);
    const auto at = overlap ? std::find(loops.begin(), loops.end(), overlap->loop) : loops.end();
    if (at >= ring_at) continue;
    ring_at = at;
    ring.axis = d;
    ring.extent = tile[d].extent;
  }
  if (ring_at == loops.end())
    return schedule.Error(kRollingBuffer, block,
                          fmt::format("no two tiles of \"{}\" overlap along a loop", write.buffer->name));
  RETURN_IF_ERROR(CheckMovesOneDimension(schedule, ring, tile));
  RETURN_IF_ERROR(CheckMakesWholeTile(schedule, block, write.buffer, around, tile, analyzer));
  for (; ring_at != loops.end(); ++ring_at) {
    const ForKind kind = schedule.LoopOf(*ring_at).kind;
    if (kind != ForKind::kSerial && kind != ForKind::kUnrolled)
      return schedule.Error(kRollingBuffer, *ring_at, "its iterations run at once; a tile is made from the one before");
  }
  return ring;
}

class RingRewriter : public StmtExprMutator {
 public:
  RingRewriter(const Schedule& schedule, const Ring& ring, int scope)
      : schedule_(schedule), ring_(ring), scope_(schedule.RealizeOf(scope).block) {}
  std::vector<BlockReuse> reuse;

 protected:
  Buffer VisitBufferDef(const Buffer& buffer) override { return buffer.same_as(ring_.from) ? ring_.to : buffer; }
  Buffer VisitBufferUse(const Buffer& buffer) override { return buffer.same_as(ring_.from) ? ring_.to : buffer; }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    if (!load.buffer.same_as(ring_.from)) return visited;
    const BufferLoad& made = *visited.As<BufferLoad>();
    return Expr::Make(self.dtype(), BufferLoad{made.buffer, Turned(made.indices), made.predicate});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    if (!store.buffer.same_as(ring_.from)) return visited;
    const BufferStore& made = *visited.As<BufferStore>();
    return BufferStore{made.buffer, made.value, Turned(made.indices), made.predicate};
  }
  Stmt VisitBlockRealize(const Stmt& self, const BlockRealize& realize) override {
    const bool is_maker = realize.block.same_as(schedule_.RealizeOf(ring_.block).block);
    const Stmt visited = StmtExprMutator::VisitBlockRealize(self, realize);
    if (!is_maker) return visited;
    BlockRealize copy = *visited.As<BlockRealize>();
    for (size_t d = 0; d < ring_.overlaps.size(); ++d)
      if (ring_.overlaps[d]) copy.predicate = And(copy.predicate, IsNew(*ring_.overlaps[d], realize.iter_values[d]));
    return copy;
  }
  Block VisitBlock(const Block& block) override {
    Block changed = StmtExprMutator::VisitBlock(block);
    if (!block.same_as(scope_)) {
      BlockNode& node = changed.Mutable();
      MakeOpaque(node);
      const AccessRegions touched = DetectAccessRegions(node);
      TakeRegion(touched.reads, node.reads);
      TakeRegion(touched.writes, node.writes);
    }
    reuse.push_back({schedule_.RowOf(block), changed});
    return changed;
  }

 private:
  // As in TVM, the iter var in the ring's place of every block below, so that no loop of a ring changes its order; not
  // a reduction's whose init waits for its first step.
  void MakeOpaque(BlockNode& node) const {
    if (ring_.axis >= node.iter_vars.size()) return;
    IterVar& iter = node.iter_vars[ring_.axis];
    if (iter.kind != IterKind::kReduce || !node.init) iter.kind = IterKind::kOpaque;
  }
  std::vector<Expr> Turned(std::vector<Expr> indices) const {
    Expr& index = indices[ring_.axis];
    index = FloorMod(index, MakeCast(index.dtype(), ring_.extent));
    return indices;
  }
  // In the first tile all is new, in others what comes after the overlap.
  Expr IsNew(const Overlap& overlap, const Expr& value) const {
    const Var& var = schedule_.LoopOf(overlap.loop).loop_var;
    const Expr in_tile = Analyzer().Simplify(Substitute(value, {{var.get(), IntConst(var.dtype(), 0)}}));
    return FoldBinary(BinaryOp::kOr, Less(var, IntConst(var.dtype(), 1)),
                      LessEqual(IntConst(in_tile.dtype(), overlap.count), in_tile));
  }
  void TakeRegion(const std::vector<BufferRegion>& touched, std::vector<BufferRegion>& regions) const {
    for (BufferRegion& region : regions)
      for (const BufferRegion& found : touched)
        if (region.buffer.same_as(ring_.to) && found.buffer.same_as(ring_.to)) region = found;
  }

  const Schedule& schedule_;
  const Ring& ring_;
  const Block scope_;
};

}  // namespace

Status RollingBuffer(Schedule& schedule, BlockRV block_rv, int write_index) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kRollingBuffer, write_index, BufferSide::kWrite));
  const int scope = schedule.ScopeOf(row);
  const BufferRegion write = schedule.BlockOf(row).writes[write_index];
  if (!Allocates(schedule.BlockOf(scope), write.buffer))
    return schedule.Error(kRollingBuffer, row, "it writes an output of the scope");
  RETURN_IF_ERROR(CheckIsolated(schedule, row, kRollingBuffer));
  RETURN_IF_ERROR(CheckOnlyElements(schedule, BufferSite{write.buffer, scope, false}, row, kRollingBuffer));
  const int around = AroundUses(schedule, row, write.buffer);
  if (!schedule.IsLoop(around))
    return schedule.Error(kRollingBuffer, row,
                          fmt::format("no loop is around it and all readers of \"{}\"; move it to its consumers first",
                                      write.buffer->name));
  RETURN_IF_ERROR(CheckReaders(schedule, row, around, write.buffer));
  ASSIGN_OR_RETURN(Ring ring, FindRing(schedule, row, write, around));
  RETURN_IF_ERROR(CheckInputsStay(schedule, row, ring.overlaps[ring.axis]->loop));

  BufferNode node = *write.buffer;
  node.data = UnsetData();
  node.shape[ring.axis] = ring.extent;
  ring.to = Buffer(std::move(node));
  RingRewriter rewriter(schedule, ring, scope);
  Stmt changed = rewriter(schedule.StmtOf(scope));
  schedule.Replace(scope, std::move(changed), rewriter.reuse);
  schedule.Record("RollingBuffer", {block_rv}, {int64_t{write_index}}, {});
  return OkStatus();
}

}  // namespace lathe
