#include "compiler/schedule/cache.h"

#include <fmt/core.h>

#include "compiler/arith/int_set.h"
#include "compiler/schedule/analysis.h"
#include "compiler/schedule/cache_stage.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "compiler/schedule/set_scope.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// for ax... { block: to[v...] = from[v...] } over `region` where `predicate` holds, and that block.
std::pair<Stmt, Block> MakeCopy(const Buffer& from, const Buffer& to, const std::vector<Range>& region,
                                const std::string& name, const Expr& predicate = True()) {
  std::vector<Var> loops;
  std::vector<Expr> values, indices;
  BlockNode block{.name = name, .body = Evaluate{Expr(0)}};
  for (size_t i = 0; i < region.size(); ++i) {
    const DataType type = from->shape[i].dtype();
    loops.emplace_back(fmt::format("ax{}", i), type);
    const Var iter(fmt::format("v{}", i), type);
    block.iter_vars.push_back(IterVar{Range{IntConst(type, 0), from->shape[i]}, iter, IterKind::kSpatial});
    values.push_back(MakeCast(type, region[i].min) + loops.back());
    indices.push_back(iter);
  }
  block.body = MakeStore(to, Load(from, indices), indices);
  RecomputeRegions(block);
  const Block made(std::move(block));
  Stmt nest = BlockRealize{std::move(values), predicate, made};
  for (size_t i = region.size(); i-- > 0;) nest = MakeFor(loops[i], MakeCast(loops[i].dtype(), region[i].extent), nest);
  return {nest, made};
}

Buffer MakeCacheBuffer(const Buffer& original, const std::string& storage_scope) {
  return MakeBuffer(original->name + "_" + storage_scope, original->shape, original->dtype, storage_scope);
}

// `region`'s box without what its guards cut off.
std::vector<Range> CutBox(const GuardedRegion& region, const Analyzer& analyzer) {
  std::vector<Range> box;
  for (size_t d = 0; d < region.box.size(); ++d) {
    Expr start = region.box[d].min, end = start + region.box[d].extent;
    for (const Expr& from : region.from[d]) start = Max(start, from);
    for (const Expr& below : region.below[d]) end = Min(end, below);
    start = analyzer.Simplify(start);
    box.push_back({start, analyzer.Simplify(end - start)});
  }
  return box;
}

// The box of `buffer` that the blocks read, over all their loops.
std::vector<Range> ReadRegion(const Schedule& schedule, const std::vector<int>& rows, const Buffer& buffer,
                              const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(buffer).region;
  std::optional<std::vector<Range>> touched;
  for (int row : rows) {
    for (const BufferRegion& region : schedule.BlockOf(row).reads) {
      if (!region.buffer.same_as(buffer)) continue;
      const std::vector<Range> box =
          CutBox(TouchedAt(schedule, schedule.ScopeOf(row), row, region, analyzer), analyzer);
      touched = touched ? UnionRegion(*touched, box, analyzer) : box;
    }
  }
  if (!touched) return full;
  for (size_t i = 0; i < full.size(); ++i) {  // What predicates keep inside may still stick out here.
    Expr &min = (*touched)[i].min, &extent = (*touched)[i].extent, end = min + extent;
    if (!analyzer.CanProve(LessEqual(end, full[i].extent))) end = Min(end, full[i].extent);
    if (!analyzer.CanProveGreaterEqual(min, 0)) min = analyzer.Simplify(Max(min, 0));
    extent = analyzer.Simplify(end - min);
  }
  return *std::move(touched);
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

// The box of `buffer` that the block writes over all its loops: every element of it, and none outside. What it does not
// write would be overwritten by a copy of the cache.
StatusOr<std::vector<Range>> WrittenRegion(const Schedule& schedule, int row, const Buffer& buffer,
                                           const char* primitive) {
  if (std::optional<std::vector<Range>> region = NumbersWrittenOver(schedule, row, buffer)) return *std::move(region);
  const int scope = schedule.ScopeOf(row);
  Analyzer analyzer;
  BindIterVars(schedule.BlockOf(scope), analyzer);
  const std::vector<Range> full = FullRegion(buffer).region;
  for (const GuardedRegion& certain : WrittenForCertain(schedule, scope, row, buffer, analyzer)) {
    const auto& writes = schedule.BlockOf(row).writes;
    const bool is_all = std::all_of(writes.begin(), writes.end(), [&](const BufferRegion& write) {
      if (!MayAlias(write.buffer, buffer)) return true;
      return write.buffer.same_as(buffer) &&
             Covers(certain, TouchedAt(schedule, scope, row, write, analyzer), full, analyzer);
    });
    if (is_all && certain.conditions.empty()) return CutBox(certain, analyzer);
  }
  return schedule.Error(primitive, row,
                        fmt::format("it is not known to write every element of the box of \"{}\" that would be copied "
                                    "back",
                                    buffer->name));
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

// Behind the last of `rows`, the writer among them, which use the cache; but nobody who reads the buffer itself may
// come before that.
size_t PlaceAfterConsumers(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer) {
  const int scope = schedule.ScopeOf(writer);
  const size_t first = ChildIndexTowards(schedule, scope, writer) + 1;
  size_t last = first;
  for (int row : rows) last = std::max(last, ChildIndexTowards(schedule, scope, row) + 1);
  for (int other : ChildBlocksBetween(schedule, scope, 0, last - 1))
    if (Reads(schedule.BlockOf(other), buffer) && std::find(rows.begin(), rows.end(), other) == rows.end())
      return first;
  return last;
}

// The place of the first of `rows` in the scope, where there are any.
size_t PlaceOfFirst(const Schedule& schedule, int scope, const std::vector<int>& rows, size_t otherwise) {
  std::optional<size_t> first;
  for (int row : rows) first = std::min(first.value_or(SIZE_MAX), ChildIndexTowards(schedule, scope, row));
  return first.value_or(otherwise);
}

// Behind the nest of `rows`, which use the cache, right before the first other reader; at the end of the scope where
// there is none. But nobody in between may have to do with the memory.
size_t PlaceBeforeOthers(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer) {
  const int scope = schedule.ScopeOf(writer);
  const size_t first = PlaceAfterConsumers(schedule, writer, rows, buffer);
  const Seq* seq = schedule.BlockOf(scope).body.As<Seq>();
  const size_t end = std::max(first, seq != nullptr ? seq->stmts.size() : 1);
  std::vector<int> readers;
  for (int other : ChildBlocksBetween(schedule, scope, first, SIZE_MAX))
    if (Reads(schedule.BlockOf(other), buffer)) readers.push_back(other);
  const size_t place = PlaceOfFirst(schedule, scope, readers, end);
  const auto is_of_it = [&](const BufferRegion& region) { return MayAlias(region.buffer, buffer); };
  if (place == first) return place;
  for (int other : ChildBlocksBetween(schedule, scope, first, place - 1)) {
    const BlockNode& node = schedule.BlockOf(other);
    const bool is_near = schedule.IsHiding(other) || std::any_of(node.reads.begin(), node.reads.end(), is_of_it) ||
                         std::any_of(node.writes.begin(), node.writes.end(), is_of_it);
    if (is_near) return first;
  }
  return place;
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
  VarMap bound;
  for (size_t i = 0; i < node.iter_vars.size(); ++i) bound.emplace(node.iter_vars[i].var.get(), realize.iter_values[i]);
  return RegionWith(*touched, bound);
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
  ASSIGN_OR_RETURN(size_t place, PlaceBeforeReader(schedule, row, buffer, kName));
  ASSIGN_OR_RETURN(std::vector<int> readers, RowsOf(schedule, consumer_blocks, scope, buffer, kName));
  if (readers.empty()) {
    for (int other : schedule.ChildBlocksOf(scope))
      if (Reads(schedule.BlockOf(other), buffer)) readers.push_back(other);
  }
  // Readers inside the nest that makes the buffer would come too early for the copy.
  std::erase_if(readers, [&](int reader) { return ChildIndexTowards(schedule, scope, reader) < place; });
  if (readers.empty())
    return schedule.Error(
        kName, row,
        fmt::format("the consumers are in the nest that makes buffer \"{}\", no copy comes before them", buffer->name));
  if (!schedule.Scope(scope).WritersOf(buffer).empty()) place = PlaceOfFirst(schedule, scope, readers, place);

  Analyzer analyzer;
  BindIterVars(schedule.BlockOf(scope), analyzer);
  const std::vector<Range> region = ReadRegion(schedule, readers, buffer, analyzer);
  const Buffer cache = MakeCacheBuffer(buffer, storage_scope);
  const std::string name = schedule.FreshBlockName(row, cache->name);
  auto [copy, copy_block] = MakeCopy(buffer, cache, region, name);
  const auto redirect = [&](const Block& block) { return Substitute(block, {}, BufferMap{{buffer.get(), cache}}); };
  RETURN_IF_ERROR(InsertCopy(schedule, readers, redirect, std::move(copy), place, cache, kName));
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
  if (const WhyNot why = WhyNotSchedulable(schedule, row); !why.empty()) return schedule.Error(kName, row, why);
  if (const WhyNot why = WhyNotEachStepOnce(schedule, row); !why.empty())
    return schedule.Error(kName, row, fmt::format("its loops are no whole reduction: {}", why));
  ASSIGN_OR_RETURN(std::vector<int> rows, RowsOf(schedule, consumer_blocks, scope, buffer, kName));
  rows.push_back(row);
  for (int other : schedule.Scope(scope).ReadersOf(buffer)) {  // In the same nest they come before the copy back.
    const bool is_in_nest = ChildIndexTowards(schedule, scope, other) == ChildIndexTowards(schedule, scope, row);
    if (!is_in_nest || std::find(rows.begin(), rows.end(), other) != rows.end()) continue;
    if (schedule.IsHiding(other)) return schedule.Error(kName, other, "it reads more than it declares");
    rows.push_back(other);
  }

  if (!schedule.Scope(scope).RowsThatReadOutside(buffer).empty())
    return schedule.Error(
        kName, row, fmt::format("a condition, bound or binding reads buffer \"{}\", which it writes", buffer->name));
  for (int reader : rows) {
    if (reader == row || IsCovered(schedule, row, reader, buffer)) continue;
    return schedule.Error(
        kName, reader,
        fmt::format("it reads elements of \"{}\" that block \"{}\" is not known to have written before", buffer->name,
                    schedule.BlockOf(row).name));
  }
  ASSIGN_OR_RETURN(const std::vector<Range> region, WrittenRegion(schedule, row, buffer, kName));
  const Buffer cache = MakeCacheBuffer(buffer, storage_scope);
  const std::string name = schedule.FreshBlockName(row, cache->name);
  auto [copy, copy_block] = MakeCopy(cache, buffer, region, name);
  const auto redirect = [&](const Block& block) { return Substitute(block, {}, BufferMap{{buffer.get(), cache}}); };
  const size_t place = consumer_blocks.empty() ? PlaceBeforeOthers(schedule, row, rows, buffer)
                                               : PlaceAfterConsumers(schedule, row, rows, buffer);
  RETURN_IF_ERROR(CheckOthersComeAfter(schedule, row, rows, buffer, place));
  RETURN_IF_ERROR(InsertCopy(schedule, rows, redirect, std::move(copy), place, cache, kName));
  const BlockRV result = schedule.NewBlockRV(copy_block);
  schedule.Record("CacheWrite", InputsOf(block_rv, consumer_blocks), {int64_t{write_index}, storage_scope},
                  {result.id});
  return result;
}

namespace {

// More than the block touches would be copied before it is made.
Status CheckDeclaresWhatItTouches(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  const BlockNode& declared = schedule.BlockOf(row);
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
  const Buffer cache = MakeCacheBuffer(buffer, storage_scope);
  const std::string name = schedule.FreshBlockName(row, cache->name);
  BlockRealize inside = schedule.RealizeOf(row);
  const auto [copy, copy_block] = MakeCopy(buffer, cache, region, name, inside.predicate);
  const auto [back, back_block] = MakeCopy(cache, buffer, region, name, inside.predicate);
  inside.block = Substitute(inside.block, {}, BufferMap{{buffer.get(), cache}});
  const Stmt old = schedule.StmtOf(row);
  const BlockRealize& scope = schedule.RealizeOf(schedule.ScopeOf(row));
  const Stmt body = *RewriteTree(scope.block->body, [&](const Stmt& stmt) -> Replacement {
    if (!stmt.same_as(old)) return std::nullopt;
    return std::vector<Stmt>{copy, inside, back};
  });
  RETURN_IF_ERROR(ReplaceUnderMarks(schedule, schedule.ScopeOf(row), WithBody(scope, body, {cache}),
                                    schedule.LoopsOf(row), kName, row, {{row, inside.block}}));
  const std::vector<BlockRV> results{schedule.NewBlockRV(copy_block), schedule.NewBlockRV(back_block)};
  schedule.Record("CacheInplace", {block_rv}, {int64_t{read_index}, storage_scope}, {results[0].id, results[1].id});
  return results;
}

}  // namespace lathe
