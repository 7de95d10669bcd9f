#include "compiler/schedule/cache.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/arith/linear.h"
#include "compiler/arith/simplifier.h"
#include "compiler/ir/iter_bindings.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/schedule/set_scope.h"
#include "compiler/script/complete.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// A part of a buffer and its copy, which has the part's shape and starts at its first element, or the whole shape.
struct CachedPart {
  Buffer original, cache;
  std::vector<Range> region;
  bool is_cut;  // The copy has the part's shape.
};

// for ax... { block: copies each element of the part, to the cache or back } where `predicate` holds, and that block.
std::pair<Stmt, Block> MakeCopy(const CachedPart& part, bool to_cache, const std::string& name,
                                const Expr& predicate = True()) {
  std::vector<Var> loops;
  std::vector<Expr> values, indices, outer;
  BlockNode block{.name = name, .body = Evaluate{Expr(0)}};
  for (size_t i = 0; i < part.region.size(); ++i) {
    const DataType type = part.original->shape[i].dtype();
    const Expr min = CastIndex(type, part.region[i].min);
    loops.emplace_back(fmt::format("ax{}", i), type);
    const Var iter(fmt::format("v{}", i), type);
    block.iter_vars.push_back(IterVar{Range{IntConst(type, 0), part.cache->shape[i]}, iter, IterKind::kSpatial});
    values.push_back(part.is_cut ? Expr(loops.back()) : min + loops.back());
    indices.push_back(iter);
    outer.push_back(part.is_cut ? min + iter : Expr(iter));
  }
  block.body = to_cache ? MakeStore(part.cache, Load(part.original, outer), indices)
                        : MakeStore(part.original, Load(part.cache, indices), outer);
  RecomputeRegions(block);
  const Block made(std::move(block));
  Stmt nest = BlockRealize{std::move(values), predicate, made};
  for (size_t i = loops.size(); i-- > 0;)
    nest = MakeFor(loops[i], CastIndex(loops[i].dtype(), part.region[i].extent), nest);
  return {nest, made};
}

// Whether a pointer or a view of the buffer is used, which may reach further than regions say.
bool LooksAtMemory(const Stmt& stmt, const Buffer& buffer) {
  bool has_view = false;
  PostOrderVisit(stmt, [&](const Stmt& below) {
    const auto* realize = below.As<BlockRealize>();
    if (realize == nullptr) return;
    for (const MatchBufferRegion& match : realize->block->match_buffers)
      has_view |= match.source.buffer.same_as(buffer);
  });
  return has_view || UsesVar(stmt, buffer->data.get());
}

// The cache of `region`. It is cut to that where the copy is made once for the scope (`is_once`), as in TVM, unless the
// region's size moves with variables, or `users` look at the memory other than by indices.
CachedPart MakeCache(const Schedule& schedule, const Buffer& original, const std::vector<Range>& region,
                     const std::string& storage_scope, bool is_once, const std::vector<int>& users) {
  bool is_cut = is_once;
  std::vector<Expr> shape;
  for (size_t d = 0; d < region.size(); ++d) {
    shape.push_back(CastIndex(original->shape[d].dtype(), region[d].extent));
    is_cut &= shape.back().As<IntImm>() != nullptr || Analyzer().CanProveEqual(shape.back(), original->shape[d]);
  }
  for (int user : users) is_cut &= !LooksAtMemory(schedule.StmtOf(user), original);
  Buffer cache = MakeBuffer(original->name + "_" + storage_scope, is_cut ? shape : original->shape, original->dtype,
                            storage_scope);
  return {original, std::move(cache), region, is_cut};
}

// Who uses the original uses the cache: at indices that count from the part's first element. As in TVM, what iter vars
// are bound to is not put in: one of extent 1 stays.
class CacheUser : public StmtExprMutator {
 public:
  explicit CacheUser(const CachedPart& part) : part_(part) {}
  Block operator()(const Block& block) { return VisitBlock(block); }

 protected:
  Buffer VisitBufferUse(const Buffer& buffer) override { return buffer.same_as(part_.original) ? part_.cache : buffer; }
  Expr VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    const Expr visited = StmtExprMutator::VisitBufferLoad(self, load);
    const BufferLoad& made = *visited.As<BufferLoad>();
    if (!made.buffer.same_as(part_.cache)) return visited;
    return Expr::Make(self.dtype(), BufferLoad{made.buffer, Moved(made.indices), made.predicate});
  }
  Stmt VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    const Stmt visited = StmtExprMutator::VisitBufferStore(self, store);
    const BufferStore& made = *visited.As<BufferStore>();
    if (!made.buffer.same_as(part_.cache)) return visited;
    return BufferStore{made.buffer, made.value, Moved(made.indices), made.predicate};
  }
  Block VisitBlock(const Block& block) override {
    Block visited = StmtExprMutator::VisitBlock(block);
    if (visited.same_as(block)) return visited;
    BlockNode& node = visited.Mutable();
    for (auto* regions : {&node.reads, &node.writes})
      for (BufferRegion& region : *regions) Move(region);
    return visited;
  }

 private:
  Expr Moved(const Expr& index, size_t d) const {
    return Analyzer().Simplify(index - CastIndex(index.dtype(), part_.region[d].min));
  }
  std::vector<Expr> Moved(std::vector<Expr> indices) const {
    for (size_t d = 0; d < indices.size(); ++d) indices[d] = Moved(indices[d], d);
    return indices;
  }
  void Move(BufferRegion& region) const {
    if (!region.buffer.same_as(part_.cache)) return;
    for (size_t d = 0; d < region.region.size(); ++d) region.region[d].min = Moved(region.region[d].min, d);
  }

  const CachedPart& part_;
};

Block UsingCache(const Block& block, const CachedPart& part) {
  return part.is_cut ? CacheUser(part)(block) : Substitute(block, {}, BufferMap{{part.original.get(), part.cache}});
}

// By numbers alone; nullopt: not known.
std::optional<std::vector<Range>> NumbersWrittenOver(const Schedule& schedule, int row, const Buffer& buffer) {
  const NestNumbers* nest = schedule.Numbers(row);
  const std::optional<DigitBox> made = NumbersWritten(schedule, row, buffer, 0);
  if (!made) return std::nullopt;
  const BlockNode& node = schedule.BlockOf(row);
  const bool is_all = std::all_of(node.writes.begin(), node.writes.end(), [&](const BufferRegion& write) {
    if (!MayAlias(write.buffer, buffer)) return true;
    const std::optional<DigitBox> touched = nest->TouchedAtMost(node, write, 0);
    return write.buffer.same_as(buffer) && touched && Covers(*made, *touched, buffer->shape);
  });
  if (!is_all) return std::nullopt;
  std::vector<Range> region;
  for (size_t d = 0; d < made->size(); ++d) {
    const DataType type = node.body.As<BufferStore>()->indices[d].dtype();
    region.push_back({IntConst(type, (*made)[d].first.base), IntConst(type, (*made)[d].length)});
  }
  return region;
}

// The box of `buffer` that the blocks read in one iteration of `above`.
std::vector<Range> ReadRegion(const Schedule& schedule, int above, const std::vector<int>& rows, const Buffer& buffer,
                              const Analyzer& analyzer) {
  std::optional<std::vector<Range>> touched;
  const std::vector<Range> full = FullRegion(buffer).region;
  for (int row : rows) {
    if (schedule.IsHiding(row)) return full;
    for (const BufferRegion& region : schedule.BlockOf(row).reads) {
      if (!region.buffer.same_as(buffer)) continue;
      const std::vector<Range> box = CutBox(TouchedAt(schedule, above, row, region, analyzer), analyzer);
      touched = touched ? UnionRegion(*touched, box, analyzer) : box;
    }
  }
  return touched ? Inside(*std::move(touched), full, analyzer) : full;
}

// The box of `buffer` that the block writes in one iteration of `above`: every element of it, and none outside;
// nullopt: there may be gaps.
std::optional<std::vector<Range>> WrittenRegion(const Schedule& schedule, int above, int row, const Buffer& buffer,
                                                const Analyzer& analyzer) {
  if (schedule.IsHiding(row)) return std::nullopt;
  if (above == schedule.ScopeOf(row))
    if (std::optional<std::vector<Range>> region = NumbersWrittenOver(schedule, row, buffer)) return region;
  const std::vector<Range> full = FullRegion(buffer).region;
  for (const GuardedRegion& certain : WrittenForCertain(schedule, above, row, buffer, analyzer)) {
    const auto& writes = schedule.BlockOf(row).writes;
    const bool is_all = std::all_of(writes.begin(), writes.end(), [&](const BufferRegion& write) {
      if (!MayAlias(write.buffer, buffer)) return true;
      return write.buffer.same_as(buffer) &&
             Covers(certain, TouchedAt(schedule, above, row, write, analyzer), full, analyzer);
    });
    if (is_all && certain.conditions.empty()) return CutBox(certain, analyzer);
  }
  return std::nullopt;
}

// The innermost place that is behind `writer` and before `reader`, a block after it; nullopt: they are in two branches,
// or under a let.
std::optional<CopyPlace> PlaceBetween(const Schedule& schedule, int writer, int reader) {
  const int above = CommonAncestor(schedule, writer, reader);
  const size_t child = ChildIndexTowards(schedule, above, reader);
  if (child == ChildIndexTowards(schedule, above, writer)) return std::nullopt;
  return CopyPlace{above, child};
}

// The first of `rows` in the text that is behind `writer`; -1: none.
int FirstBehind(const Schedule& schedule, int writer, const std::vector<int>& rows) {
  int first = -1;
  for (int row : rows) {
    if (row == writer || !IsBefore(schedule, writer, row)) continue;
    if (first < 0 || IsBefore(schedule, row, first)) first = row;
  }
  return first;
}

// The blocks that `handles` mean, all of one scope and readers of `buffer`.
StatusOr<std::vector<int>> RowsOf(const Schedule& schedule, std::span<const BlockRV> handles, int scope,
                                  const Buffer& buffer, const char* primitive) {
  std::vector<int> rows;
  for (BlockRV handle : handles) {
    ASSIGN_OR_RETURN(const int row, schedule.RowOf(handle));
    if (schedule.ScopeOf(row) != scope || !Reads(schedule.BlockOf(row), buffer)) {
      return schedule.Error(primitive, row,
                            fmt::format("it is no reader of buffer \"{}\" in the same scope", buffer->name));
    }
    if (std::find(rows.begin(), rows.end(), row) == rows.end()) rows.push_back(row);
  }
  return rows;
}

// Whether all of `readers` are done with what the scope was given before the nest of the first who writes the buffer.
bool AreBeforeWriters(const Schedule& schedule, const std::vector<int>& readers, const Buffer& buffer) {
  const int scope = schedule.ScopeOf(readers.front());
  const std::vector<int> writers = schedule.Scope(scope).WritersOf(buffer);
  const size_t first = PlaceOfFirst(schedule, scope, writers, 0);
  return !Allocates(schedule.BlockOf(scope), buffer) && std::all_of(readers.begin(), readers.end(), [&](int reader) {
    return ChildIndexTowards(schedule, scope, reader) < first;
  });
}

std::vector<TraceInput> InputsOf(BlockRV block, std::span<const BlockRV> others) {
  std::vector<TraceInput> inputs{block};
  inputs.insert(inputs.end(), others.begin(), others.end());
  return inputs;
}

// What the block touches of `buffer`, which it reads and writes, in terms of the loops around it.
StatusOr<std::vector<Range>> TouchedInPlace(const Schedule& schedule, int row, const Buffer& buffer,
                                            const char* primitive) {
  const BlockRealize& realize = schedule.RealizeOf(row);
  const BlockNode& node = *realize.block;
  if (!std::any_of(node.writes.begin(), node.writes.end(),
                   [&](const BufferRegion& write) { return write.buffer.same_as(buffer); }))
    return schedule.Error(primitive, row, fmt::format("it does not write buffer \"{}\", which it reads", buffer->name));
  Analyzer analyzer;
  BindIterVars(node, analyzer);
  std::optional<std::vector<Range>> touched;
  for (const auto* regions : {&node.reads, &node.writes}) {
    for (const BufferRegion& region : *regions) {
      if (!MayAlias(region.buffer, buffer)) continue;
      if (!region.buffer.same_as(buffer))
        return schedule.Error(primitive, row,
                              fmt::format("it uses the memory of buffer \"{}\" as buffer \"{}\", too", buffer->name,
                                          region.buffer->name));
      touched = touched ? UnionRegion(*touched, region.region, analyzer) : region.region;
    }
  }
  return RegionWith(*touched, IterBindings(realize));
}

// Behind `row` and those of `rows`, who use the cache, before the first other reader: in the loop around both where
// there is one. Readers in its nest to which no copy can come in time join `rows`.
StatusOr<CopyPlace> PlaceOfCopyBack(const Schedule& schedule, int row, std::vector<int>& rows, const Buffer& buffer,
                                    bool are_named) {
  const int scope = schedule.ScopeOf(row);
  const size_t nest = ChildIndexTowards(schedule, scope, row);
  std::vector<int> others;
  for (int other : schedule.Scope(scope).ReadersOf(buffer)) {
    const bool is_in_nest = ChildIndexTowards(schedule, scope, other) == nest;
    if (is_in_nest && std::find(rows.begin(), rows.end(), other) == rows.end()) others.push_back(other);
  }
  const int first = FirstBehind(schedule, row, others);
  const bool all_behind = std::none_of(others.begin(), others.end(), [&](int o) { return IsBefore(schedule, o, row); });
  if (first >= 0 && all_behind && IsCovered(schedule, row, first, buffer)) {
    const std::optional<CopyPlace> place = PlaceBetween(schedule, row, first);
    if (place && LoopThatReduces(schedule, row, place->above) < 0) return *place;
  }
  for (int other : others) {
    if (schedule.IsHiding(other)) return schedule.Error("cache_write", other, "it reads more than it declares");
    rows.push_back(other);
  }
  return CopyPlace{scope, are_named ? PlaceAfterConsumers(schedule, row, rows, buffer)
                                    : PlaceBeforeOthers(schedule, row, rows, buffer)};
}

// Of a buffer that `writer` makes (-1: the scope is given it), what is copied in each iteration of `above`.
std::vector<Range> RegionToRead(const Schedule& schedule, int above, int writer, const std::vector<int>& readers,
                                const Buffer& buffer) {
  if (writer < 0) return DeclaredRead(schedule, schedule.ScopeOf(readers.front()), buffer);
  const Analyzer analyzer = KnowingLoops(schedule, above);
  const auto has_all = [&](int reader) { return IsCovered(schedule, writer, reader, buffer); };
  const auto written = WrittenRegion(schedule, above, writer, buffer, analyzer);
  if (written && std::all_of(readers.begin(), readers.end(), has_all)) return *written;
  return ReadRegion(schedule, above, readers, buffer, analyzer);
}

// Behind `writer`, which makes what the readers read, before the first who reads anything of what it makes; -1: first
// in the scope, which is given it.
StatusOr<CopyPlace> PlaceOfCopy(const Schedule& schedule, int scope, int writer, const std::vector<int>& readers,
                                bool are_named) {
  if (writer < 0) return CopyPlace{scope, 0};
  if (!are_named && schedule.BlockOf(writer).writes.size() > 1) {
    const int any = FirstBehind(schedule, writer, ConsumersOf(schedule, writer));
    const std::optional<CopyPlace> place = any < 0 ? std::nullopt : PlaceBetween(schedule, writer, any);
    if (place && place->above == scope) return *place;
  }
  const int first = FirstBehind(schedule, writer, readers);
  if (const std::optional<CopyPlace> place = PlaceBetween(schedule, writer, first)) return *place;
  return schedule.Error(
      "cache_read", first,
      fmt::format("no copy comes between block \"{}\" and it: they share a branch or a let, or are in two branches",
                  schedule.BlockOf(writer).name));
}

// Below a loop, the copy has only what `writer` has made in the same iteration. Behind the loop, it has what all of
// them made, where each copied that and nothing else.
Status CheckReadsWhatIsMade(const Schedule& schedule, int above, int writer, const std::vector<int>& readers,
                            const Buffer& buffer) {
  if (writer < 0 || above == schedule.ScopeOf(writer)) return OkStatus();
  if (const int loop = LoopThatReduces(schedule, writer, above); loop >= 0)
    return schedule.Error("cache_read", writer, "a loop around the copy still reduces it");
  const auto is_below = [&](int reader) { return schedule.IsAncestor(above, reader); };
  const bool copies_all = std::all_of(readers.begin(), readers.end(), is_below) ||
                          WrittenRegion(schedule, above, writer, buffer, KnowingLoops(schedule, above)).has_value();
  for (int reader : readers) {
    if ((is_below(reader) || copies_all) && IsCovered(schedule, writer, reader, buffer)) continue;
    return schedule.Error(
        "cache_read", reader,
        fmt::format("it reads elements of \"{}\" that block \"{}\" is not known to have written before", buffer->name,
                    schedule.BlockOf(writer).name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BlockRV> CacheRead(Schedule& schedule, BlockRV block_rv, int read_index, const std::string& storage_scope,
                            std::span<const BlockRV> consumer_blocks) {
  constexpr const char* kName = "cache_read";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kName, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kName, read_index, BufferSide::kRead));
  const int scope = schedule.ScopeOf(row);
  const Buffer buffer = schedule.BlockOf(row).reads[read_index].buffer;
  ASSIGN_OR_RETURN(std::vector<int> readers, RowsOf(schedule, consumer_blocks, scope, buffer, kName));
  readers.push_back(row);  // As one of them.
  const bool is_before = !consumer_blocks.empty() && AreBeforeWriters(schedule, readers, buffer);
  readers.pop_back();
  ASSIGN_OR_RETURN(const int writer, is_before ? -1 : WriterBefore(schedule, row, buffer, kName));
  if (readers.empty()) {
    for (int other : schedule.ChildBlocksOf(scope))
      if (Reads(schedule.BlockOf(other), buffer)) readers.push_back(other);
  }
  if (writer >= 0) std::erase_if(readers, [&](int r) { return r == writer || !IsBefore(schedule, writer, r); });
  if (readers.empty())
    return schedule.Error(kName, row, fmt::format("no consumer comes after the block that makes \"{}\"", buffer->name));
  ASSIGN_OR_RETURN(const CopyPlace place, PlaceOfCopy(schedule, scope, writer, readers, !consumer_blocks.empty()));
  RETURN_IF_ERROR(CheckReadsWhatIsMade(schedule, place.above, writer, readers, buffer));
  if (writer < 0) RETURN_IF_ERROR(CheckNobodyElseMakes(schedule, scope, buffer, kName, row));
  const std::vector<Range> region = RegionToRead(schedule, place.above, writer, readers, buffer);
  const CachedPart part = MakeCache(schedule, buffer, region, storage_scope, place.above == scope, readers);
  auto [copy, copy_block] = MakeCopy(part, true, schedule.FreshBlockName(row, part.cache->name));
  const auto redirect = [&](const Block& block) { return UsingCache(block, part); };
  RETURN_IF_ERROR(InsertCopy(schedule, readers, redirect, std::move(copy), place, part.cache, kName));
  if (writer < 0) MarkBlocksAroundCopy(schedule, schedule.ScopeOf(schedule.RowOf(copy_block)), buffer);
  const BlockRV result = schedule.NewBlockRV(copy_block);
  schedule.Record("CacheRead", InputsOf(block_rv, consumer_blocks), {int64_t{read_index}, storage_scope}, {result.id});
  return result;
}

namespace {

// Who is left with the buffer itself reads it behind `place`, where it is copied back.
Status CheckOthersComeAfter(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer,
                            size_t place) {
  const int scope = schedule.ScopeOf(writer);
  for (int other : schedule.Scope(scope).ReadersOf(buffer)) {
    const size_t at = ChildIndexTowards(schedule, scope, other);
    const bool is_left = std::find(rows.begin(), rows.end(), other) == rows.end();
    if (is_left && at >= ChildIndexTowards(schedule, scope, writer) && at < place)
      return schedule.Error("cache_write", other,
                            fmt::format("it reads buffer \"{}\" before the last of the consumers does, behind which it "
                                        "would be copied back; make it a consumer, too",
                                        buffer->name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BlockRV> CacheWrite(Schedule& schedule, BlockRV block_rv, int write_index, const std::string& storage_scope,
                             std::span<const BlockRV> consumer_blocks) {
  constexpr const char* kName = "cache_write";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kName, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kName, write_index, BufferSide::kWrite));
  const int scope = schedule.ScopeOf(row);
  const Buffer buffer = schedule.BlockOf(row).writes[write_index].buffer;
  if (schedule.Scope(scope).WritersOf(buffer).size() != 1)
    return schedule.Error(kName, row,
                          fmt::format("it is not the only writer of buffer \"{}\" in this scope", buffer->name));
  // A block that computes elements more than once may do so in parallel; nobody outside its nest may then read them.
  if (const WhyNot why = WhyNotSchedulable(schedule, row); !why.empty())
    if (!schedule.IsAffineBinding(row) || !MakesWhatItReads(schedule, row, buffer))
      return schedule.Error(kName, row, why);
  if (const WhyNot why = WhyNotEachStepOnce(schedule, row); !why.empty())
    return schedule.Error(kName, row, fmt::format("its loops are no whole reduction: {}", why));
  if (const WhyNot why = WhyNotBegunInside(schedule, row); !why.empty()) return schedule.Error(kName, row, why);
  std::vector<BlockRV> consumers;  // The block itself writes to the cache anyway.
  for (BlockRV consumer : consumer_blocks) {
    ASSIGN_OR_RETURN(const int other, schedule.RowOf(consumer));
    if (other != row) consumers.push_back(consumer);
  }
  ASSIGN_OR_RETURN(std::vector<int> rows, RowsOf(schedule, consumers, scope, buffer, kName));
  rows.push_back(row);
  if (!schedule.Scope(scope).RowsThatReadOutside(buffer).empty())
    return schedule.Error(
        kName, row, fmt::format("a condition, bound or binding reads buffer \"{}\", which it writes", buffer->name));
  ASSIGN_OR_RETURN(const CopyPlace place, PlaceOfCopyBack(schedule, row, rows, buffer, !consumer_blocks.empty()));
  for (int reader : rows) {
    if (reader == row || IsCovered(schedule, row, reader, buffer)) continue;
    return schedule.Error(
        kName, reader,
        fmt::format("it reads elements of \"{}\" that block \"{}\" is not known to have written before", buffer->name,
                    schedule.BlockOf(row).name));
  }
  if (place.above == scope) RETURN_IF_ERROR(CheckOthersComeAfter(schedule, row, rows, buffer, place.child));
  const Analyzer analyzer = KnowingLoops(schedule, place.above);
  const auto region = WrittenRegion(schedule, place.above, row, buffer, analyzer);
  if (!region)
    return schedule.Error(
        kName, row,
        fmt::format("it is not known to write every element of the box of \"{}\" that would be copied back",
                    buffer->name));
  const CachedPart part = MakeCache(schedule, buffer, *region, storage_scope, place.above == scope, rows);
  auto [copy, copy_block] = MakeCopy(part, false, schedule.FreshBlockName(row, part.cache->name));
  const auto redirect = [&](const Block& block) { return UsingCache(block, part); };
  RETURN_IF_ERROR(InsertCopy(schedule, rows, redirect, std::move(copy), place, part.cache, kName));
  const BlockRV result = schedule.NewBlockRV(copy_block);
  schedule.Record("CacheWrite", InputsOf(block_rv, consumer_blocks), {int64_t{write_index}, storage_scope},
                  {result.id});
  return result;
}

namespace {

// More than the block touches would be copied before it is made.
Status CheckDeclaresWhatItTouches(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  const BlockNode& declared = schedule.BlockOf(row);
  if (UsesVar(declared.body, buffer->data.get())) return OkStatus();  // Who has the address touches what it declares.
  BlockNode touched = declared;
  RecomputeRegions(touched);
  const auto region_in = [&](const std::vector<BufferRegion>& regions) { return RegionOfBuffer(regions, buffer); };
  const auto is_same = [](const Range& a, const Range& b) {
    return Analyzer().CanProveEqual(a.min, b.min) && Analyzer().CanProveEqual(a.extent, b.extent);
  };
  for (const auto& [told, seen] : {std::pair(region_in(declared.reads), region_in(touched.reads)),
                                   std::pair(region_in(declared.writes), region_in(touched.writes))}) {
    if (told == nullptr || (seen != nullptr && std::equal(told->begin(), told->end(), seen->begin(), is_same)))
      continue;
    return schedule.Error(primitive, row, fmt::format("it declares more of \"{}\" than it touches", buffer->name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<BlockRV>> CacheInplace(Schedule& schedule, BlockRV block_rv, int read_index,
                                            const std::string& storage_scope) {
  constexpr const char* kName = "cache_inplace";
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(block_rv));
  RETURN_IF_ERROR(CheckStorageScope(schedule, row, kName, storage_scope));
  RETURN_IF_ERROR(CheckBufferIndex(schedule, row, kName, read_index, BufferSide::kRead));
  const Buffer buffer = schedule.BlockOf(row).reads[read_index].buffer;
  RETURN_IF_ERROR(CheckDeclaresWhatItTouches(schedule, row, buffer, kName));
  ASSIGN_OR_RETURN(const std::vector<Range> region, TouchedInPlace(schedule, row, buffer, kName));
  const CachedPart part = MakeCache(schedule, buffer, region, storage_scope, false, {});
  const std::string name = schedule.FreshBlockName(row, part.cache->name);
  BlockRealize inside = schedule.RealizeOf(row);
  const auto [copy, copy_block] = MakeCopy(part, true, name, inside.predicate);
  const auto [back, back_block] = MakeCopy(part, false, name, inside.predicate);
  inside.block = UsingCache(inside.block, part);
  const Stmt old = schedule.StmtOf(row);
  const BlockRealize& scope = schedule.RealizeOf(schedule.ScopeOf(row));
  const Stmt body = *RewriteTree(scope.block->body, [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(old)) return std::nullopt;
    return std::vector<Stmt>{copy, inside, back};
  });
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, schedule.ScopeOf(row), WithBody(scope, body, {part.cache}),
                                    schedule.LoopsOf(row), kName, row, {{row, inside.block}}));
  const std::vector<BlockRV> results{schedule.NewBlockRV(copy_block), schedule.NewBlockRV(back_block)};
  schedule.Record("CacheInplace", {block_rv}, {int64_t{read_index}, storage_scope}, {results[0].id, results[1].id});
  return results;
}

}  // namespace lathe
