#include "compiler/schedule/reindex.h"

#include <fmt/core.h>

#include <unordered_set>

#include "compiler/arith/int_set.h"
#include "compiler/ir/structural.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/set_scope.h"
#include "compiler/script/index_map_text.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr const char* kReIndex = "reindex";

// The indices of all loads and stores of a buffer in a statement, where they are the same.
class AccessFinder : public StmtExprVisitor {
 public:
  explicit AccessFinder(const Buffer& buffer) : buffer_(buffer) {}
  std::optional<std::vector<Expr>> indices;
  bool are_same = true, is_plain = true;

 protected:
  void VisitBlock(const Block& block) override {
    is_plain = false;
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Note(store.buffer, store.indices);
    StmtExprVisitor::VisitBufferStore(self, store);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Note(load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }

 private:
  void Note(const Buffer& buffer, const std::vector<Expr>& found) {
    if (!buffer.same_as(buffer_)) return;
    if (!indices) indices = found;
    for (size_t i = 0; i < found.size(); ++i) are_same = are_same && StructuralEqual(found[i], (*indices)[i]);
  }

  const Buffer& buffer_;
};

StatusOr<std::vector<Expr>> IndicesOf(const Schedule& schedule, int row, const Buffer& buffer) {
  const BlockNode& block = schedule.BlockOf(row);
  AccessFinder finder(buffer);
  if (block.init) finder(*block.init);
  finder(block.body);
  for (const MatchBufferRegion& match : block.match_buffers)
    for (const Range& range : match.source.region) finder(range.min), finder(range.extent);
  const bool is_viewed = std::any_of(block.match_buffers.begin(), block.match_buffers.end(),
                                     [&](const auto& match) { return match.source.buffer.same_as(buffer); });
  if (!finder.is_plain || is_viewed || !finder.indices)
    return schedule.Error(
        kReIndex, row, fmt::format("it uses buffer \"{}\" through a view, an inner block or opaquely", buffer->name));
  if (!finder.are_same)
    return schedule.Error(kReIndex, row,
                          fmt::format("it accesses buffer \"{}\" at different indices; one is required", buffer->name));
  return *std::move(finder.indices);
}

bool UsesAnyOf(const std::vector<Expr>& indices, const Var& var) {
  return std::any_of(indices.begin(), indices.end(), [&](const Expr& index) { return UsesVar(index, var.get()); });
}
bool Uses(const std::vector<Expr>& indices, const IterVar& iter) { return UsesAnyOf(indices, iter.var); }

bool AreIn(const std::vector<Expr>& indices, const std::vector<Expr>& shape, const Analyzer& analyzer) {
  return std::equal(indices.begin(), indices.end(), shape.begin(), shape.end(),
                    [&](const Expr& index, const Expr& end) {
                      return analyzer.CanProveGreaterEqual(index, 0) && analyzer.CanProve(Less(index, end));
                    });
}

// Whether `var` is an iter var of the block or of one around it: what such are while the block's scope runs, they stay.
bool IsIterVarAround(const Schedule& schedule, int row, const Expr& var) {
  for (int block = row; block >= 0; block = schedule.ScopeOf(block))
    for (const IterVar& iter : schedule.BlockOf(block).iter_vars)
      if (iter.var.same_as(var)) return true;
  return false;
}

// Indices are functions of iter vars, inside the buffer for all of their values.
Status CheckIndices(const Schedule& schedule, int row, const Buffer& buffer, const std::vector<Expr>& indices) {
  Analyzer analyzer;
  for (int block = row; block >= 0; block = schedule.ScopeOf(block)) BindIterVars(schedule.BlockOf(block), analyzer);
  for (size_t d = 0; d < indices.size(); ++d) {
    bool is_of_iters = true;
    PostOrderVisit(indices[d], [&](const Expr& part) {
      is_of_iters =
          is_of_iters && part.As<BufferLoad>() == nullptr && (!IsVar(part) || IsIterVarAround(schedule, row, part));
    });
    if (!is_of_iters)
      return schedule.Error(kReIndex, row,
                            fmt::format("index {} of buffer \"{}\" is no function of the iter vars", d, buffer->name));
    if (!AreIn({indices[d]}, {buffer->shape[d]}, analyzer))
      return schedule.Error(kReIndex, row,
                            fmt::format("index {} of buffer \"{}\" may leave it where a predicate keeps the block from "
                                        "running",
                                        d, buffer->name));
  }
  return OkStatus();
}

// Loads and stores of one buffer become those of another, with other indices.
class AccessReplacer : public StmtExprMutator {
 public:
  AccessReplacer(const Buffer& from, const Buffer& to, const std::vector<Expr>& indices)
      : from_(from), to_(to), indices_(indices) {}

 protected:
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    return load.buffer.same_as(from_) ? Load(to_, indices_) : StmtExprMutator::VisitBufferLoad(self, load);
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    return store.buffer.same_as(from_) ? MakeStore(to_, visited.As<BufferStore>()->value, indices_) : visited;
  }

 private:
  const Buffer &from_, &to_;
  const std::vector<Expr>& indices_;
};

// The copy: the iter vars that it runs over, the buffer, and where an element is in the original and in the copy.
struct Copy {
  std::vector<IterVar> axes;
  Buffer cache;
  std::vector<Expr> indices, points;
};

Copy MakeCopy(const BlockNode& block, const Buffer& buffer, const std::vector<Expr>& indices) {
  std::vector<IterVar> axes;
  std::vector<Expr> shape, points;
  for (const IterVar& iter : block.iter_vars) {
    if (!Uses(indices, iter)) continue;
    axes.push_back(iter);
    points.push_back(iter.var);
    shape.push_back(iter.domain.extent);
  }
  return {axes, MakeBuffer(buffer->name + "_reindex", shape, buffer->dtype, buffer->scope), indices, points};
}

// What runs the copy: loops, from the outermost, and what they bind the axes to.
struct CopyLoops {
  std::vector<For> loops;
  std::vector<Expr> values;
  Expr predicate = True();
  bool are_own = false;  // Made for the copy, one for an axis.
};

CopyLoops OwnLoops(const Copy& copy) {
  CopyLoops own{.are_own = true};
  for (size_t i = 0; i < copy.axes.size(); ++i) {
    const Var loop(fmt::format("ax{}", i), copy.axes[i].var.dtype());
    own.loops.push_back(*MakeFor(loop, copy.axes[i].domain.extent, Evaluate{0}).As<For>());
    own.values.push_back(loop);
  }
  return own;
}

// Serial, from 0, over a loop that stands for itself.
For FreshLoop(const For& loop, VarMap& vars) {
  const Var fresh(loop.loop_var.name(), loop.loop_var.dtype());
  For made = *MakeFor(fresh, Substitute(loop.extent, vars), Evaluate{0}).As<For>();
  vars.emplace(loop.loop_var.get(), fresh);
  return made;
}

// What the block binds the axes to.
std::vector<Expr> AxisValues(const BlockRealize& realize, const Copy& copy) {
  std::vector<Expr> values;
  for (size_t i = 0; i < realize.iter_values.size(); ++i)
    for (const IterVar& axis : copy.axes)
      if (axis.var.same_as(realize.block->iter_vars[i].var)) values.push_back(realize.iter_values[i]);
  return values;
}

// The loops of the block that bind the axes, as TVM has them; loops of their own where those mean nothing by
// themselves: what they run over, or when, is said by another loop, a let, a branch or memory.
CopyLoops LoopsLikeThoseOf(const Schedule& schedule, int row, const Copy& copy) {
  const BlockRealize& realize = schedule.RealizeOf(row);
  const std::vector<int> loops = schedule.LoopsOf(row);
  if (loops.empty() || IsConditional(schedule, schedule.ScopeOf(row), row)) return OwnLoops(copy);
  CopyLoops like{.values = AxisValues(realize, copy), .predicate = realize.predicate};
  std::unordered_set<const ExprNode*> unknown;
  const auto is_unknown = [&](const Expr& e) {
    return HasLoad(e) || UsesVar(e, [&](const ExprNode* var) { return unknown.contains(var); });
  };
  VarMap vars;
  bool are_known = true;
  for (int above : loops) {
    const For& loop = schedule.LoopOf(above);
    const bool is_used = UsesAnyOf(like.values, loop.loop_var);
    if (is_used) like.loops.push_back(FreshLoop(loop, vars));
    if (!is_used) unknown.insert(loop.loop_var.get());
    are_known = are_known && (!is_used || (IsConstInt(loop.min, 0) && !is_unknown(loop.extent)));
  }
  are_known =
      are_known && !is_unknown(like.predicate) && std::none_of(like.values.begin(), like.values.end(), is_unknown);
  if (!are_known) return OwnLoops(copy);
  for (Expr& value : like.values) value = Substitute(value, vars);
  like.predicate = Substitute(like.predicate, vars);
  return like;
}

// loops { block name: to = from } and that block; `is_read`: to the cache.
std::pair<Stmt, Block> CopyNest(const Copy& copy, const CopyLoops& around, const Buffer& buffer,
                                const std::string& name, bool is_read) {
  VarMap vars;
  std::vector<Expr> at_cache, at_buffer;
  BlockNode block{.name = name, .body = Evaluate{Expr(0)}};
  for (size_t i = 0; i < copy.axes.size(); ++i) {
    const Var& axis = copy.axes[i].var;
    const Var iter(around.are_own ? fmt::format("v{}", i) : axis.name(), axis.dtype());
    block.iter_vars.push_back({copy.axes[i].domain, iter, IterKind::kSpatial});
    vars.emplace(axis.get(), iter);
  }
  for (const Expr& point : copy.points) at_cache.push_back(Substitute(point, vars));
  for (const Expr& index : copy.indices) at_buffer.push_back(Substitute(index, vars));
  block.body = is_read ? MakeStore(copy.cache, Load(buffer, at_buffer), at_cache)
                       : MakeStore(buffer, Load(copy.cache, at_cache), at_buffer);
  RecomputeRegions(block);
  const Block made(std::move(block));
  Stmt nest = BlockRealize{around.values, around.predicate, made};
  for (size_t i = around.loops.size(); i-- > 0;) nest = MakeFor(around.loops[i].loop_var, around.loops[i].extent, nest);
  return {nest, made};
}

// The block with the cache in the place of the buffer; its regions say so, also those of others whose places it gives.
Block Redirected(const Block& block, const Buffer& buffer, const Copy& copy) {
  std::vector<Range> region;
  for (const Expr& point : copy.points) region.push_back({point, IntConst(point.dtype(), 1)});
  AccessReplacer replace(buffer, copy.cache, copy.points);
  BlockNode node = *block;
  node.body = replace(node.body);
  if (node.init) node.init = replace(*node.init);
  const auto replace_in = [&](std::vector<Range>& ranges) {
    for (Range& range : ranges) range = {replace(range.min), replace(range.extent)};
  };
  for (MatchBufferRegion& match : node.match_buffers) replace_in(match.source.region);
  for (auto* regions : {&node.reads, &node.writes})
    for (BufferRegion& one : *regions) {
      replace_in(one.region);
      if (one.buffer.same_as(buffer)) one = {copy.cache, region};
    }
  return Block(std::move(node));
}

// The copy comes right before the nest, in which nobody makes what it copies.
Status CheckReads(const Schedule& schedule, int row, const Buffer& buffer) {
  const int scope = schedule.ScopeOf(row);
  for (int writer : schedule.Scope(scope).WritersOf(buffer)) {
    if (ChildIndexTowards(schedule, scope, writer) == ChildIndexTowards(schedule, scope, row))
      return schedule.Error(
          kReIndex, row,
          fmt::format("it is in the nest that makes buffer \"{}\", so no copy can be made before it", buffer->name));
  }
  return OkStatus();
}

// In a block, the copy reads no more than the block says of itself: more may not be made when it runs.
Status CheckReadsAreDeclared(const Schedule& schedule, int row, const Buffer& buffer, const Copy& copy) {
  const int scope = schedule.ScopeOf(row);
  if (schedule.ScopeOf(scope) < 0) return OkStatus();
  std::vector<Range> region;
  for (const Expr& index : copy.indices) region.push_back({index, IntConst(index.dtype(), 1)});
  IterDomain axes;
  for (const IterVar& iter : copy.axes) axes.emplace_back(iter.var, iter.domain);
  const std::vector<Range> read = RelaxRegion(std::move(region), axes, Analyzer());
  Analyzer analyzer;
  BindIterVars(schedule.BlockOf(scope), analyzer);
  const auto is_in = [&](const Range& part, const Range& whole) {
    return !IsConstInt(part.extent, 0) && analyzer.CanProve(LessEqual(whole.min, part.min)) &&
           analyzer.CanProve(LessEqual(part.min + part.extent, whole.min + whole.extent));
  };
  for (const BufferRegion& declared : schedule.BlockOf(scope).reads)
    if (declared.buffer.same_as(buffer) &&
        std::equal(read.begin(), read.end(), declared.region.begin(), declared.region.end(), is_in))
      return OkStatus();
  if (Allocates(schedule.BlockOf(scope), buffer)) return OkStatus();
  return schedule.Error(kReIndex, row,
                        fmt::format("the copy would read more of \"{}\" than block \"{}\" around it declares",
                                    buffer->name, schedule.BlockOf(scope).name));
}

// Each element is written, once, and copied back before anybody else wants it.
Status CheckWrites(const Schedule& schedule, int row, const Buffer& buffer, const std::vector<Expr>& indices) {
  const BlockNode& block = schedule.BlockOf(row);
  const int scope = schedule.ScopeOf(row);
  if (schedule.Scope(scope).WritersOf(buffer).size() != 1)
    return schedule.Error(kReIndex, row,
                          fmt::format("it is not the only writer of buffer \"{}\" in this scope", buffer->name));
  if (const WhyNot why = WhyNotSchedulable(schedule, row); !why.empty()) return schedule.Error(kReIndex, row, why);
  if (const WhyNot why = WhyNotEachStepOnce(schedule, row); !why.empty())
    return schedule.Error(kReIndex, row, fmt::format("its loops are no whole reduction: {}", why));
  if (const WhyNot why = WhyNotBegunInside(schedule, row); !why.empty()) return schedule.Error(kReIndex, row, why);
  for (int other : schedule.Scope(scope).ReadersOf(buffer)) {
    const bool is_in_nest = ChildIndexTowards(schedule, scope, other) == ChildIndexTowards(schedule, scope, row);
    if (other != row && is_in_nest)
      return schedule.Error(kReIndex, other, fmt::format("it reads buffer \"{}\" in the same nest", buffer->name));
  }
  if (!schedule.Scope(scope).RowsThatReadOutside(buffer).empty())
    return schedule.Error(kReIndex, row,
                          fmt::format("a condition, bound or binding reads buffer \"{}\"", buffer->name));
  IterDomain iters;
  for (const IterVar& iter : block.iter_vars) {
    if (Uses(indices, iter))
      iters.emplace_back(iter.var, iter.domain);
    else if (iter.kind == IterKind::kSpatial && !IsConstInt(iter.domain.extent, 1))
      return schedule.Error(kReIndex, row,
                            fmt::format("iter var \"{}\" is no index of buffer \"{}\"", iter.var.name(), buffer->name));
  }
  if (!HasIterMap(indices, iters, True(), {IterMapLevel::kBijective}, Analyzer()))
    return schedule.Error(kReIndex, row, fmt::format("it may write an element of \"{}\" more than once", buffer->name));
  return OkStatus();
}

// Else a copy would read, or write back, what nobody made.
Status CheckRunsForAll(const Schedule& schedule, int row, const Copy& copy) {
  if (RunsForAll(schedule, row, copy.axes)) return OkStatus();
  return schedule.Error(kReIndex, row, "it is not known to run for all values of its iter vars");
}

bool IsNeverWritten(const Schedule& schedule, int scope, const Buffer& buffer) {
  return schedule.Scope(scope).WritersOf(buffer).empty() && !schedule.Scope(scope).IsWrittenOutside(buffer);
}

// Where TVM puts the copy: beside the block, but into memory of a scope first of all where nobody writes the buffer,
// and back from there before the next who reads it.
size_t PlaceOf(const Schedule& schedule, int row, const Buffer& buffer, bool is_read, bool has_own_loops) {
  const int scope = schedule.ScopeOf(row);
  const size_t beside = ChildIndexTowards(schedule, scope, row);
  if (has_own_loops) return is_read ? beside : beside + 1;
  if (!is_read) return PlaceBeforeOthers(schedule, row, {row}, buffer);
  return IsNeverWritten(schedule, scope, buffer) ? 0 : beside;
}

// The checks, and the copy itself.
StatusOr<BlockRV> PutCopy(Schedule& schedule, int row, const Buffer& buffer, const Copy& copy, const CopyLoops& loops,
                          const std::string& name, bool is_read) {
  for (const IterVar& iter : copy.axes)
    if (!IsConstInt(iter.domain.min, 0))
      return schedule.Error(kReIndex, row, fmt::format("iter var \"{}\" does not start at 0", iter.var.name()));
  if (is_read) {
    RETURN_IF_ERROR(CheckReads(schedule, row, buffer));
    const bool is_made_here = !schedule.Scope(schedule.ScopeOf(row)).WritersOf(buffer).empty();
    if (is_made_here) RETURN_IF_ERROR(CheckRunsForAll(schedule, row, copy));
    RETURN_IF_ERROR(CheckReadsAreDeclared(schedule, row, buffer, copy));
  } else {
    RETURN_IF_ERROR(CheckWrites(schedule, row, buffer, copy.indices));
    RETURN_IF_ERROR(CheckRunsForAll(schedule, row, copy));
  }
  auto [nest, made] = CopyNest(copy, loops, buffer, schedule.FreshBlockName(row, name), is_read);
  const auto redirect = [&](const Block& old) { return Redirected(old, buffer, copy); };
  const CopyPlace place{schedule.ScopeOf(row), PlaceOf(schedule, row, buffer, is_read, loops.are_own)};
  RETURN_IF_ERROR(InsertCopy(schedule, {row}, redirect, std::move(nest), place, copy.cache, kReIndex));
  return schedule.NewBlockRV(made);
}

// Each iter var counts for the buffer's indices and for the map's, or for neither.
Status CheckSameIters(const Schedule& schedule, int row, const std::vector<Expr>& indices,
                      const std::vector<Expr>& points) {
  for (const IterVar& iter : schedule.BlockOf(row).iter_vars) {
    const bool in_indices = Uses(indices, iter), in_points = Uses(points, iter);
    if (in_indices != in_points)
      return schedule.Error(kReIndex, row,
                            fmt::format("iter var \"{}\" appears in {}, but not in {}", iter.var.name(),
                                        in_indices ? "the indices of the buffer" : "the results of the index map",
                                        in_indices ? "the results of the index map" : "the indices of the buffer"));
  }
  return OkStatus();
}

// Whether each of `indices` is one of `points` or known, so that a point is of one element: X[n, h + r] at (h + r, c)
// for one n.
bool AreAmong(const std::vector<Expr>& indices, const std::vector<Expr>& points, const Analyzer& analyzer) {
  return std::all_of(indices.begin(), indices.end(), [&](const Expr& index) {
    const Expr value = analyzer.Simplify(index);
    return AsIntConst(value) != nullptr || std::any_of(points.begin(), points.end(), [&](const Expr& point) {
             return SameExpr(index, point) || analyzer.CanProveEqual(index, point);
           });
  });
}

// The copy by an index map of the block's iter vars, one place for each of their values or for each element.
StatusOr<Copy> MappedCopy(const Schedule& schedule, int row, const Buffer& buffer, const std::vector<Expr>& indices,
                          const std::string& storage_scope, const IndexMap& index_map, BufferSide side) {
  const BlockNode& block = schedule.BlockOf(row);
  if (block.iter_vars.empty() || index_map.initial_indices.size() != block.iter_vars.size())
    return schedule.Error(kReIndex, row,
                          fmt::format("it has {} iter vars, the index map takes {}", block.iter_vars.size(),
                                      index_map.initial_indices.size()));
  const IndexMap map = WithIndexTypes(index_map, TypesOf(block.iter_vars));
  Analyzer analyzer;
  BindIterVars(block, analyzer);
  std::vector<Expr> vars, extents;
  for (const IterVar& iter : block.iter_vars) {
    vars.push_back(iter.var);
    extents.push_back(iter.domain.extent);
  }
  Copy copy = MakeCopy(block, buffer, indices);
  ASSIGN_OR_RETURN(copy.points, map.MapIndices(vars, KnowingLongIters(block.iter_vars)));
  RETURN_IF_ERROR(CheckSameIters(schedule, row, indices, copy.points));
  IterDomain axes;
  for (const IterVar& iter : copy.axes) axes.emplace_back(iter.var, iter.domain);
  const StatusOr<std::vector<Expr>> shape = map.MapShape(extents, Analyzer());
  const bool has_one_source = side == BufferSide::kRead && AreAmong(indices, copy.points, analyzer);
  if (!shape.ok() || !(has_one_source || HasIterMap(copy.points, axes, True(), {IterMapLevel::kBijective}, Analyzer())))
    return schedule.Error(kReIndex, row,
                          fmt::format("the index map {} is not bijective on the iter vars' domains", Print(map)));
  if (!AreIn(copy.points, *shape, analyzer))
    return schedule.Error(kReIndex, row,
                          fmt::format("the index map {} leaves the shape that it gives the copy, which counts from 0: "
                                      "an iter var begins elsewhere",
                                      Print(map)));
  copy.cache = MakeBuffer(buffer->name + "_" + storage_scope, *shape, buffer->dtype, storage_scope);
  return copy;
}

StatusOr<BlockRV> ReIndexCache(Schedule& schedule, BlockRV block_rv, int buffer_index, const std::string& storage_scope,
                               const TraceMap& given, BufferSide side) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  ASSIGN_OR_RETURN(const IndexMap index_map, MapInNumbers(schedule, given));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kReIndex, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kReIndex, buffer_index, side));
  RETURN_IF_ERROR(CheckIsolated(schedule, row, kReIndex));
  const bool is_read = side == BufferSide::kRead;
  const BlockNode& block = schedule.BlockOf(row);
  const Buffer buffer = (is_read ? block.reads : block.writes)[buffer_index].buffer;
  ASSIGN_OR_RETURN(const std::vector<Expr> indices, IndicesOf(schedule, row, buffer));
  RETURN_IF_ERROR(CheckIndices(schedule, row, buffer, indices));
  ASSIGN_OR_RETURN(const Copy copy, MappedCopy(schedule, row, buffer, indices, storage_scope, index_map, side));
  ASSIGN_OR_RETURN(const BlockRV result, PutCopy(schedule, row, buffer, copy, LoopsLikeThoseOf(schedule, row, copy),
                                                 copy.cache->name, is_read));
  schedule.Record(is_read ? "ReindexCacheRead" : "ReindexCacheWrite", {block_rv, given},
                  {int64_t{buffer_index}, storage_scope}, {result.id});
  return result;
}

}  // namespace

StatusOr<BlockRV> ReIndex(Schedule& schedule, BlockRV block_rv, int buffer_index, BufferSide side) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kReIndex, buffer_index, side));
  RETURN_IF_ERROR(CheckIsolated(schedule, row, kReIndex));
  const bool is_read = side == BufferSide::kRead;
  const BlockNode& block = schedule.BlockOf(row);
  const Buffer buffer = (is_read ? block.reads : block.writes)[buffer_index].buffer;
  ASSIGN_OR_RETURN(std::vector<Expr> indices, IndicesOf(schedule, row, buffer));
  RETURN_IF_ERROR(CheckIndices(schedule, row, buffer, indices));
  const Analyzer analyzer = KnowingLongIters(block.iter_vars);  // co // 32 of 32 channels: no axis of the copy.
  for (Expr& index : indices) index = analyzer.Simplify(index);
  const Copy copy = MakeCopy(block, buffer, indices);
  const std::string name = (is_read ? copy.cache->name : buffer->name) + "_reindex";
  ASSIGN_OR_RETURN(const BlockRV result, PutCopy(schedule, row, buffer, copy, OwnLoops(copy), name, is_read));
  schedule.Record("ReIndex", {block_rv}, {int64_t{buffer_index}, int64_t{is_read ? 0 : 1}}, {result.id});
  return result;
}

StatusOr<BlockRV> ReindexCacheRead(Schedule& schedule, BlockRV block, int read_buffer_index,
                                   const std::string& storage_scope, const TraceMap& index_map) {
  return ReIndexCache(schedule, block, read_buffer_index, storage_scope, index_map, BufferSide::kRead);
}
StatusOr<BlockRV> ReindexCacheWrite(Schedule& schedule, BlockRV block, int write_buffer_index,
                                    const std::string& storage_scope, const TraceMap& index_map) {
  return ReIndexCache(schedule, block, write_buffer_index, storage_scope, index_map, BufferSide::kWrite);
}

}  // namespace lathe
