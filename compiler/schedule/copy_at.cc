#include "compiler/schedule/copy_at.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/schedule/set_scope.h"
#include "compiler/schedule/thread_scope.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// One copy: of `buffer`, for `users`, before or after the child at `place` of the loop's body.
struct CopyAt {
  const char* primitive;
  int loop, block;
  Buffer buffer, cache;
  std::vector<int> users;
  std::vector<Range> region;  // In terms of the loops around, the loop itself included.
  size_t place;
  bool is_read;
};

Buffer CacheOf(const Buffer& buffer, const std::string& storage_scope) {
  return MakeBuffer(buffer->name + "_" + storage_scope, buffer->shape, buffer->dtype, storage_scope);
}

// The values of the loop's variable, for all of the loops around it.
Range DomainOf(const Schedule& schedule, int row) {
  const For& loop = schedule.LoopOf(row);
  const std::vector<Range> domain{{loop.min, loop.extent}};
  Analyzer analyzer;
  BindOuterLoops(schedule, row, false, analyzer);
  return RelaxRegion(domain, LoopsBetween(schedule, schedule.ScopeOf(row), row), analyzer, &domain).front();
}

// The block that copies the region element by element. Its iter vars are the loops outside that the region names.
Block CopyBlock(const Schedule& schedule, const CopyAt& copy, std::vector<Expr>& values) {
  BlockNode node{.name = schedule.FreshBlockName(copy.block, copy.cache->name), .body = Evaluate{Expr(0)}};
  VarMap iters;
  const std::vector<int> around = LoopsDownTo(schedule, copy.loop);
  const auto add_iter = [&](const Expr& part) {
    for (int row : around) {
      const For& loop = schedule.LoopOf(row);
      if (!loop.loop_var.same_as(part) || iters.contains(part.get())) continue;
      const Var iter(fmt::format("v{}", values.size()), part.dtype());
      node.iter_vars.push_back({DomainOf(schedule, row), iter, IterKind::kSpatial});
      iters.emplace(part.get(), iter);
      values.push_back(part);
    }
  };
  for (const Range& range : copy.region) {
    PostOrderVisit(range.min, add_iter);
    PostOrderVisit(range.extent, add_iter);
  }
  std::vector<Expr> indices;
  std::vector<Var> loops;
  std::vector<Range> tile = RegionWith(copy.region, iters);
  for (const Range& range : tile) {
    loops.emplace_back(fmt::format("ax{}", loops.size()), range.min.dtype());
    indices.push_back(range.min + loops.back());
  }
  const Buffer &from = copy.is_read ? copy.buffer : copy.cache, &to = copy.is_read ? copy.cache : copy.buffer;
  Stmt body = MakeStore(to, Load(from, indices), indices);
  for (size_t d = loops.size(); d-- > 0;) body = MakeFor(loops[d], CastIndex(loops[d].dtype(), tile[d].extent), body);
  node.body = std::move(body);
  node.reads = {BufferRegion{from, tile}};
  node.writes = {BufferRegion{to, tile}};
  node.annotations.insert_or_assign("auto_copy", int64_t{1});
  return Block(std::move(node));
}

// The loop is around the block, in its scope and in no condition's way.
Status CheckLoop(const Schedule& schedule, int loop, int block, const char* primitive) {
  if (schedule.ScopeOf(loop) != schedule.ScopeOf(block) || !schedule.IsAncestor(loop, block))
    return schedule.Error(primitive, block,
                          fmt::format("loop \"{}\" is not around it", schedule.LoopOf(loop).loop_var.name()));
  if (IsConditional(schedule, schedule.ScopeOf(loop), loop) || IsConditional(schedule, loop, block))
    return schedule.Error(primitive, block, "an if, while or let is around it or the loop");
  for (int other : schedule.ChildBlocksOf(loop))
    if (schedule.IsHiding(other)) return schedule.Error(primitive, other, "it touches more than it declares");
  return OkStatus();
}

// What the users touch in an iteration of the loop, in all threads that share the copy, inside of what there is.
std::vector<Range> TouchedBy(const Schedule& schedule, const CopyAt& copy) {
  const Analyzer analyzer = KnowingLoops(schedule, copy.loop);
  const IterDomain threads = ThreadsThatShare(schedule, copy.loop, copy.cache->scope);
  std::optional<std::vector<Range>> touched;
  for (int user : copy.users) {
    const BlockNode& node = schedule.BlockOf(user);
    for (const BufferRegion& region : copy.is_read ? node.reads : node.writes) {
      if (!region.buffer.same_as(copy.buffer)) continue;
      const std::vector<Range> box =
          RelaxRegion(RegionAt(schedule, copy.loop, user, region, analyzer), threads, analyzer);
      touched = touched ? UnionRegion(*touched, box, analyzer) : box;
    }
  }
  const std::vector<Range> all =
      copy.is_read ? DeclaredRead(schedule, schedule.ScopeOf(copy.loop), copy.buffer) : FullRegion(copy.buffer).region;
  for (size_t d = 0; d < all.size(); ++d) {  // What a predicate keeps inside may stick out here.
    Range& range = (*touched)[d];
    const bool is_inside = analyzer.CanProveGreaterEqual(range.min - all[d].min, 0) &&
                           analyzer.CanProve(LessEqual(range.min + range.extent, all[d].min + all[d].extent));
    if (!is_inside) range = all[d];
  }
  return *touched;
}

Status Insert(Schedule& schedule, CopyAt copy, BlockRV& result) {
  std::vector<Expr> values;
  const Block made = CopyBlock(schedule, copy, values);
  const Stmt stage = BlockRealize{values, True(), made};
  const For& loop = schedule.LoopOf(copy.loop);
  const Seq* seq = loop.body.As<Seq>();
  std::vector<Stmt> children = seq != nullptr ? seq->stmts : std::vector<Stmt>{loop.body};
  std::vector<BlockReuse> reuse;
  for (Stmt& child : children) {
    child = *RewriteTree(child, [&](const Stmt& stmt) -> Replacement {
      for (int user : copy.users) {
        if (!stmt.same_as(schedule.StmtOf(user))) continue;
        BlockRealize changed = *stmt.As<BlockRealize>();
        changed.block = Substitute(changed.block, {}, BufferMap{{copy.buffer.get(), copy.cache}});
        reuse.push_back({user, changed.block});
        return std::vector<Stmt>{std::move(changed)};
      }
      return std::nullopt;
    });
  }
  children.insert(children.begin() + std::ptrdiff_t(copy.place + (copy.is_read ? 0 : 1)), stage);
  For changed = loop;
  changed.body = MakeSeq(std::move(children));
  const int scope = schedule.ScopeOf(copy.loop);
  const Stmt old = schedule.StmtOf(copy.loop);
  const BlockRealize& realize = schedule.RealizeOf(scope);
  const Stmt body = *RewriteTree(realize.block->body, [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(old)) return std::nullopt;
    return std::vector<Stmt>{changed};
  });
  std::vector<int> around = schedule.LoopsOf(copy.block);
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, scope, WithBody(realize, body, {copy.cache}), around, copy.primitive,
                                    copy.block, reuse));
  result = schedule.NewBlockRV(made);
  return OkStatus();
}

// All of what would be copied back has been written.
Status CheckWritesAll(const Schedule& schedule, const CopyAt& copy) {
  const Analyzer analyzer = KnowingLoops(schedule, copy.loop);
  const GuardedRegion wanted = WholeBox(copy.region);
  const std::vector<Range> full = FullRegion(copy.buffer).region;
  for (const GuardedRegion& certain : WrittenForCertain(schedule, copy.loop, copy.block, copy.buffer, analyzer))
    if (certain.conditions.empty() && Covers(certain, wanted, full, analyzer)) return OkStatus();
  return schedule.Error(copy.primitive, copy.block,
                        fmt::format("it is not known to write every element of the box of \"{}\" that would be copied "
                                    "back",
                                    copy.buffer->name));
}

// A copy is a box, which may hold elements that its readers leave out. Around the scope, where what blocks declare
// stays as it is, none of them may be what another iteration writes at once.
WhyNot WhyNotBesideWriters(const Schedule& schedule, int scope, const Buffer& buffer) {
  const auto writes = [&](int block) { return Writes(schedule.BlockOf(block), buffer); };
  for (int block = scope; schedule.ScopeOf(block) >= 0; block = schedule.ScopeOf(block)) {
    for (int loop : schedule.LoopsOf(block)) {
      const For& node = schedule.LoopOf(loop);
      const std::vector<int> below = schedule.ChildBlocksOf(loop);
      if (IsConcurrent(node.kind) && std::any_of(below.begin(), below.end(), writes))
        return fmt::format("iterations of loop \"{}\" around block \"{}\" run at once and write buffer \"{}\"",
                           node.loop_var.name(), schedule.BlockOf(block).name, buffer->name);
    }
  }
  return "";
}

}  // namespace

StatusOr<BlockRV> ReadAt(Schedule& schedule, LoopRV loop_rv, BlockRV block_rv, int read_index,
                         const std::string& storage_scope) {
  constexpr const char* kName = "read_at";
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, block, kName, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, block, kName, read_index, BufferSide::kRead));
  RETURN_IF_ERROR(CheckLoop(schedule, loop, block, kName));
  const Buffer buffer = schedule.BlockOf(block).reads[size_t(read_index)].buffer;
  CopyAt copy{kName, loop, block, buffer, CacheOf(buffer, storage_scope), {}, {}, 0, true};
  for (int other : schedule.ChildBlocksOf(loop))
    if (Reads(schedule.BlockOf(other), buffer)) copy.users.push_back(other);
  copy.place = ChildIndexTowards(schedule, loop, copy.users.front());
  for (int other : schedule.ChildBlocksOf(loop)) {
    if (Writes(schedule.BlockOf(other), buffer) && ChildIndexTowards(schedule, loop, other) >= copy.place)
      return schedule.Error(
          kName, other, fmt::format("it writes buffer \"{}\" below the loop after the copy was made", buffer->name));
  }
  if (IsReadOutsideBlocksBelow(schedule, loop, buffer))
    return schedule.Error(kName, loop, fmt::format("below it buffer \"{}\" is read outside of blocks", buffer->name));
  RETURN_IF_ERROR(CheckNobodyElseMakes(schedule, schedule.ScopeOf(loop), buffer, kName, block));
  if (const WhyNot why = WhyNotBesideWriters(schedule, schedule.ScopeOf(loop), buffer); !why.empty())
    return schedule.Error(kName, block, why);
  copy.region = TouchedBy(schedule, copy);
  BlockRV result{};
  RETURN_IF_ERROR(Insert(schedule, std::move(copy), result));
  ASSIGN_OR_RETURN(const int copied, schedule.RowOf(result));
  MarkBlocksAroundCopy(schedule, schedule.ScopeOf(copied), buffer);
  schedule.Record("ReadAt", {loop_rv, block_rv}, {int64_t{read_index}, storage_scope}, {result.id});
  return result;
}

StatusOr<BlockRV> WriteAt(Schedule& schedule, LoopRV loop_rv, BlockRV block_rv, int write_index,
                          const std::string& storage_scope) {
  constexpr const char* kName = "write_at";
  ASSIGN_OR_RETURN(const int loop, schedule.RowOf(loop_rv));
  ASSIGN_OR_RETURN(const int block, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, block, kName, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, block, kName, write_index, BufferSide::kWrite));
  RETURN_IF_ERROR(CheckLoop(schedule, loop, block, kName));
  const BlockNode& node = schedule.BlockOf(block);
  const Buffer buffer = node.writes[size_t(write_index)].buffer;
  for (int other : schedule.ChildBlocksOf(loop)) {
    const BlockNode& user = schedule.BlockOf(other);
    if (other == block ? Reads(user, buffer) && !user.init : Reads(user, buffer) || Writes(user, buffer))
      return schedule.Error(kName, other, fmt::format("it uses buffer \"{}\" below the loop, too", buffer->name));
  }
  for (const BufferRegion& write : node.writes) {
    if (!write.buffer.same_as(buffer) && MayAlias(write.buffer, buffer))
      return schedule.Error(kName, block,
                            fmt::format("it writes the memory of buffer \"{}\" as another", buffer->name));
  }
  if (IsReadOutsideBlocksBelow(schedule, loop, buffer))
    return schedule.Error(kName, loop, fmt::format("below it buffer \"{}\" is read outside of blocks", buffer->name));
  if (const WhyNot why = WhyNotSchedulable(schedule, block); !why.empty()) return schedule.Error(kName, block, why);
  if (const WhyNot why = WhyNotEachStepOnce(schedule, block); !why.empty())
    return schedule.Error(kName, block, fmt::format("its loops are no whole reduction: {}", why));
  if (const WhyNot why = WhyNotBegunInside(schedule, block); !why.empty()) return schedule.Error(kName, block, why);
  CopyAt copy{kName, loop, block, buffer, CacheOf(buffer, storage_scope), {block}, {}, 0, false};
  copy.place = ChildIndexTowards(schedule, loop, block);
  copy.region = TouchedBy(schedule, copy);
  RETURN_IF_ERROR(CheckWritesAll(schedule, copy));
  BlockRV result{};
  RETURN_IF_ERROR(Insert(schedule, std::move(copy), result));
  schedule.Record("WriteAt", {loop_rv, block_rv}, {int64_t{write_index}, storage_scope}, {result.id});
  return result;
}

}  // namespace lathe
