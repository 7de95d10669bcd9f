#include "compiler/transform/plan_and_update_buffer_allocation_location.h"

#include "compiler/arith/guarded_region.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// A loop or block around an access.
struct Scope {
  const void* id;                             // StmtNode of a loop, BlockNode of a block.
  const For* loop = nullptr;                  // nullptr: a block.
  std::optional<Range> range = std::nullopt;  // Of a loop, in terms of loop variables.
  bool operator==(const Scope& other) const { return id == other.id; }
};

// One use of an allocated buffer, in order of execution. `region` is in terms of loop variables.
struct Access {
  bool is_write = false;
  bool is_certain = true;  // False: a condition decides, so that nobody may rely on the write.
  std::vector<Range> region;
  Expr predicate = True();  // Of the blocks around it.
  std::vector<std::pair<Expr, Expr>>
      first_steps;          // A write of an init happens where the first are equal to the second.
  std::vector<Scope> path;  // Outermost first.
};

struct Allocation {
  Buffer buffer;
  std::vector<Scope> path;  // Of the block that allocates, itself included.
  std::vector<Access> accesses;
};

class AccessCollector : public StmtExprVisitor {
 public:
  std::vector<Allocation> allocations;

 protected:
  void VisitFor(const Stmt& self, const For& loop) override {
    VisitExpr(loop.min);
    VisitExpr(loop.extent);
    path_.push_back({self.get(), &loop, Range{Expand(loop.min), Expand(loop.extent)}});
    VisitStmt(loop.body);
    path_.pop_back();
  }
  void VisitStmt(const Stmt& stmt) override {
    const IfThenElse* branch = stmt.As<IfThenElse>();
    const While* repeat = stmt.As<While>();
    if (branch == nullptr && repeat == nullptr) return StmtExprVisitor::VisitStmt(stmt);
    VisitExpr(branch != nullptr ? branch->condition : repeat->condition);
    ++num_conditions_;
    VisitStmt(branch != nullptr ? branch->then_case : repeat->body);
    if (branch != nullptr && branch->else_case) VisitStmt(*branch->else_case);
    --num_conditions_;
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const BlockNode& block = *realize.block;
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    const Expr outer_predicate = predicate_;
    predicate_ = And(predicate_, Expand(realize.predicate));
    std::vector<std::pair<Expr, Expr>> steps;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Expr value = Expand(realize.iter_values[i]);
      iter_values_.insert_or_assign(block.iter_vars[i].var.get(), value);
      if (block.iter_vars[i].kind == IterKind::kReduce)
        steps.emplace_back(value, Expand(block.iter_vars[i].domain.min));
    }
    path_.push_back({realize.block.get()});
    for (const Buffer& buffer : block.alloc_buffers) {
      positions_[buffer.get()] = allocations.size();
      allocations.push_back({buffer, path_, {}});
    }
    if (block.init) {
      first_steps_.swap(steps);
      VisitStmt(*block.init);
      first_steps_.swap(steps);
    }
    VisitMatches(block);
    VisitStmt(block.body);
    path_.pop_back();
    predicate_ = outer_predicate;
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    StmtExprVisitor::VisitBufferStore(self, store);
    Note(store.buffer, store.indices, /*is_write=*/true);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    StmtExprVisitor::VisitBufferLoad(self, load);
    Note(load.buffer, load.indices, /*is_write=*/false);
  }

 private:
  Expr Expand(const Expr& e) const { return Substitute(e, iter_values_); }

  // What is done through views is what the block declares.
  void VisitMatches(const BlockNode& block) {
    for (const MatchBufferRegion& match : block.match_buffers) {
      for (const BufferRegion& region : block.reads) {
        if (region.buffer.same_as(match.source.buffer)) NoteRegion(region.buffer, region.region, false);
      }
      for (const BufferRegion& region : block.writes) {
        if (region.buffer.same_as(match.source.buffer)) NoteRegion(region.buffer, region.region, true);
      }
    }
  }
  void Note(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write) {
    std::vector<Range> region;
    for (const Expr& index : indices) region.push_back({index, IntConst(index.dtype(), 1)});
    NoteRegion(buffer, region, is_write);
  }
  void NoteRegion(const Buffer& buffer, std::vector<Range> region, bool is_write) {
    const auto found = positions_.find(buffer.get());
    if (found == positions_.end()) return;
    bool is_plain = true;
    for (Range& range : region) {
      range = {Expand(range.min), Expand(range.extent)};
      PostOrderVisit(range.min,
                     [&](const Expr& e) { is_plain &= e.As<BufferLoad>() == nullptr && e.dtype().is_scalar(); });
    }
    allocations[found->second].accesses.push_back(
        {is_write, num_conditions_ == 0 && is_plain, std::move(region), predicate_, first_steps_, path_});
  }

  std::vector<Scope> path_;
  VarMap iter_values_;
  Expr predicate_ = True();
  std::vector<std::pair<Expr, Expr>> first_steps_;
  int num_conditions_ = 0;
  std::unordered_map<const BufferNode*, size_t> positions_;
};

// Loops of `path` below its first `depth` scopes, outermost first.
IterDomain InnerLoops(const std::vector<Scope>& path, size_t depth) {
  IterDomain loops;
  for (size_t d = depth; d < path.size(); ++d)
    if (path[d].loop != nullptr) loops.emplace_back(path[d].loop->loop_var, *path[d].range);
  return loops;
}

// What a write touches for certain in one iteration of the scope around `loops`. An init counts only where the first
// step of its reduction is the first iteration of loops inside.
std::optional<GuardedRegion> WrittenForCertain(const Access& access, const IterDomain& loops,
                                               const Analyzer& analyzer) {
  if (!access.is_certain) return std::nullopt;
  VarMap first;
  for (const auto& [var, range] : loops) {
    const auto feeds = [&, used = var.get()](const auto& step) {
      return UsesVar(step.first, [&](const ExprNode* other) { return other == used; });
    };
    if (std::any_of(access.first_steps.begin(), access.first_steps.end(), feeds)) first.emplace(var.get(), range.min);
  }
  for (const auto& [value, min] : access.first_steps)
    if (!analyzer.CanProveEqual(Substitute(value, first), min)) return std::nullopt;
  return TouchedForCertain({access.region, loops, Substitute(access.predicate, first)}, analyzer);
}

// Every read finds its value written earlier in the same iteration of the loop that is scope `depth` - 1 of all paths.
bool IsPrivate(const Allocation& allocation, size_t depth, const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(allocation.buffer).region;
  std::vector<GuardedRegion> written;
  for (const Access& access : allocation.accesses) {
    const IterDomain loops = InnerLoops(access.path, depth);
    if (!access.is_write) {
      const GuardedRegion needed = TouchedAtMost({access.region, loops, access.predicate}, full, analyzer);
      const bool is_found = std::any_of(written.begin(), written.end(), [&](const GuardedRegion& earlier) {
        return Covers(earlier, needed, full, analyzer);
      });
      if (!is_found) return false;
    } else if (std::optional<GuardedRegion> region = WrittenForCertain(access, loops, analyzer)) {
      written.push_back(*std::move(region));
    }
  }
  return true;
}

// How many scopes of the common path the allocation may enter.
size_t FindDepth(const Allocation& allocation) {
  const size_t home = allocation.path.size();
  Analyzer analyzer;  // Knows the loops that all accesses are in.
  const auto enter = [&](const Scope& scope) {
    if (scope.loop != nullptr) analyzer.Bind(scope.loop->loop_var, *scope.range);
  };
  for (const Scope& scope : allocation.path) enter(scope);
  if (allocation.accesses.empty()) return home;
  size_t common = allocation.accesses.front().path.size();
  for (const Access& access : allocation.accesses) {
    size_t same = 0;
    while (same < std::min(common, access.path.size()) && access.path[same] == allocation.accesses.front().path[same])
      ++same;
    common = same;
  }
  size_t depth = home;
  for (size_t d = home; d < common; ++d) {
    enter(allocation.accesses.front().path[d]);
    const For* loop = allocation.accesses.front().path[d].loop;
    if (loop != nullptr) {
      const bool is_shared = loop->kind == ForKind::kThreadBinding && loop->thread.starts_with("threadIdx") &&
                             allocation.buffer->scope.starts_with("shared");
      if (loop->kind == ForKind::kVectorized || is_shared || !IsPrivate(allocation, d + 1, analyzer)) return depth;
    }
    depth = d + 1;
  }
  return depth;
}

using Places = std::unordered_map<const void*, std::vector<Buffer>>;  // Scope -> what lives in it.

class AllocationMover : public StmtExprMutator {
 public:
  explicit AllocationMover(const Places& places) : places_(places) {}

 protected:
  Stmt VisitFor(const Stmt& self, const For& loop) override {
    const Stmt visited = StmtExprMutator::VisitFor(self, loop);
    const auto found = places_.find(self.get());
    if (found == places_.end()) return visited;
    For copy = *visited.As<For>();
    BlockNode block{.name = "allocate_" + found->second.front()->name, .body = copy.body};
    block.alloc_buffers = found->second;
    copy.body = BlockRealize{{}, True(), Block(std::move(block))};
    return copy;
  }
  Block VisitBlock(const Block& self) override {
    Block block = StmtExprMutator::VisitBlock(self);
    const auto found = places_.find(self.get());
    const std::vector<Buffer> here = found == places_.end() ? std::vector<Buffer>() : found->second;
    if (here.empty() && self->alloc_buffers.empty()) return block;
    block.Mutable().alloc_buffers = here;
    return block;
  }

 private:
  const Places& places_;
};

}  // namespace

PrimFunc PlanAndUpdateBufferAllocationLocation(PrimFunc func) {
  AccessCollector collector;
  collector(func.body);
  Places places;
  for (const Allocation& allocation : collector.allocations) {
    const size_t depth = FindDepth(allocation);
    const std::vector<Scope>& path =
        depth == allocation.path.size() ? allocation.path : allocation.accesses.front().path;
    places[path[depth - 1].id].push_back(allocation.buffer);
  }
  func.body = AllocationMover(places)(func.body);
  return func;
}

}  // namespace lathe
