#include "compiler/schedule/cache_stage.h"

#include <fmt/core.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Whether what `e` loads is inside of its buffers, wherever it is computed.
bool LoadsAreInside(const Expr& e, const Analyzer& analyzer) {
  bool are_inside = true;
  PostOrderVisit(e, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    for (size_t d = 0; load != nullptr && d < load->indices.size(); ++d)
      are_inside = are_inside && analyzer.CanProveGreaterEqual(load->indices[d], 0) &&
                   analyzer.CanProve(Less(load->indices[d], load->buffer->shape[d]));
  });
  return are_inside;
}

}  // namespace

Status CheckBufferIndex(const Schedule& schedule, int row, const char* primitive, int index, BufferSide side) {
  if (schedule.ScopeOf(row) < 0) return schedule.Error(primitive, row, "the root block has no scope");
  const bool is_read = side == BufferSide::kRead;
  const size_t count = is_read ? schedule.BlockOf(row).reads.size() : schedule.BlockOf(row).writes.size();
  if (index >= 0 && size_t(index) < count) return OkStatus();
  return schedule.Error(
      primitive, row,
      fmt::format("it has {} {} regions, index {} is not among them", count, is_read ? "read" : "write", index));
}

size_t PlaceOfFirst(const Schedule& schedule, int scope, const std::vector<int>& rows, size_t otherwise) {
  std::optional<size_t> first;
  for (int row : rows) first = std::min(first.value_or(SIZE_MAX), ChildIndexTowards(schedule, scope, row));
  return first.value_or(otherwise);
}

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

size_t PlaceBeforeOthers(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer) {
  const int scope = schedule.ScopeOf(writer);
  const size_t first = PlaceAfterConsumers(schedule, writer, rows, buffer);
  const Seq* seq = schedule.BlockOf(scope).body.As<Seq>();
  const size_t end = std::max(first, seq != nullptr ? seq->stmts.size() : 1);
  std::vector<int> readers = ConsumersOf(schedule, writer);
  std::erase_if(readers, [&](int reader) { return ChildIndexTowards(schedule, scope, reader) < first; });
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

std::vector<Range> Inside(std::vector<Range> box, const std::vector<Range>& full, const Analyzer& analyzer) {
  for (size_t i = 0; i < full.size(); ++i) {
    Expr &min = box[i].min, &extent = box[i].extent, end = min + extent;
    if (!analyzer.CanProve(LessEqual(end, full[i].extent))) end = Min(end, full[i].extent);
    if (!analyzer.CanProveGreaterEqual(min, 0)) min = analyzer.Simplify(Max(min, 0));
    extent = analyzer.Simplify(end - min);
    // All of it is outside, and so is read under a condition that does not hold.
    if (AsIntConst(extent) != nullptr && *AsIntConst(extent) < 0) box[i] = full[i];
  }
  return box;
}

std::vector<Range> DeclaredRead(const Schedule& schedule, int scope, const Buffer& buffer) {
  const std::vector<Range> full = FullRegion(buffer).region;
  if (schedule.IsHiding(scope)) return full;
  const Analyzer analyzer = KnowingLoops(schedule, scope);
  std::optional<std::vector<Range>> declared;
  for (const BufferRegion& read : schedule.BlockOf(scope).reads)
    if (read.buffer.same_as(buffer)) declared = declared ? UnionRegion(*declared, read.region, analyzer) : read.region;
  if (!declared) return full;
  // A copy has none of the conditions under which the block's readers look into memory.
  for (size_t d = 0; d < full.size(); ++d)
    if (!LoadsAreInside((*declared)[d].min, analyzer) || !LoadsAreInside((*declared)[d].extent, analyzer))
      (*declared)[d] = full[d];
  return Inside(*std::move(declared), full, analyzer);
}

Status CheckNobodyElseMakes(const Schedule& schedule, int scope, const Buffer& buffer, const char* primitive,
                            int place) {
  if (!schedule.IsHiding(scope)) return OkStatus();
  for (int above = schedule.ParentOf(scope); above >= 0; above = schedule.ParentOf(above)) {
    if (!schedule.IsLoop(above) || !IsConcurrent(schedule.LoopOf(above).kind)) continue;
    for (int other : schedule.ChildBlocksOf(above))
      if (Writes(schedule.BlockOf(other), buffer))
        return schedule.Error(
            primitive, place,
            fmt::format("the copy would be of all of \"{}\", of which block \"{}\" makes a part in "
                        "each iteration of loop \"{}\", and these run at once",
                        buffer->name, schedule.BlockOf(other).name, schedule.LoopOf(above).loop_var.name()));
  }
  return OkStatus();
}

void MarkBlocksAroundCopy(Schedule& schedule, int scope, const Buffer& buffer) {
  if (!schedule.IsHiding(scope)) return;
  const std::vector<Range> full = FullRegion(buffer).region;
  const auto is_all = [&](const BufferRegion& read) {
    return read.buffer.same_as(buffer) && IsSameBox(read.region, full);
  };
  for (int block = schedule.ScopeOf(scope); schedule.ScopeOf(block) >= 0; block = schedule.ScopeOf(block)) {
    const std::vector<BufferRegion>& reads = schedule.BlockOf(block).reads;
    if (!schedule.IsHiding(block) && std::none_of(reads.begin(), reads.end(), is_all))
      schedule.MarkHiding(block, /*also_stores=*/true);
  }
}

StatusOr<int> WriterBefore(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  const std::vector<int> writers = schedule.Scope(schedule.ScopeOf(row)).WritersOf(buffer);
  if (writers.empty()) return -1;
  if (writers.size() > 1)
    return schedule.Error(
        primitive, row,
        fmt::format("buffer \"{}\" has {} writers in this scope, at most 1 is allowed", buffer->name, writers.size()));
  if (writers[0] == row)
    return schedule.Error(primitive, row, fmt::format("it writes buffer \"{}\" itself", buffer->name));
  // Tiles that overlap have no affine binding, but write the same twice.
  if (const WhyNot why = WhyNotCompleteOrReduction(schedule, writers[0]); !why.empty())
    if (!MakesWhatItReads(schedule, writers[0], buffer)) return schedule.Error(primitive, row, why);
  if (IsBefore(schedule, writers[0], row)) return writers[0];
  return schedule.Error(
      primitive, row,
      fmt::format("it is before the block that makes buffer \"{}\", so no copy can be made before it", buffer->name));
}

Status CheckNotInInit(const Schedule& schedule, int row, const char* primitive) {
  const BlockNode& scope = schedule.BlockOf(schedule.ScopeOf(row));
  bool is_found = false;
  const Stmt& wanted = schedule.StmtOf(row);
  if (scope.init) PostOrderVisit(*scope.init, [&](const Stmt& stmt) { is_found |= stmt.same_as(wanted); });
  if (!is_found) return OkStatus();
  return schedule.Error(primitive, row, "it is in the init of its scope, which has no place for other blocks");
}

bool MakesWhatItReads(const Schedule& schedule, int row, const Buffer& buffer) {
  const BlockNode& node = schedule.BlockOf(row);
  const BlockScope& inside = schedule.Scope(row);
  const std::vector<int> writers = inside.WritersOf(buffer);
  if (!IsSpatial(node) || node.init || writers.size() != 1 || !inside.RowsThatReadOutside(buffer).empty()) return false;
  const auto is_other = [&](const BufferRegion& region) {
    return MayAlias(region.buffer, buffer) && !region.buffer.same_as(buffer);
  };
  if (std::any_of(node.reads.begin(), node.reads.end(), is_other)) return false;
  const std::vector<int> readers = inside.ReadersOf(buffer);
  return std::all_of(readers.begin(), readers.end(), [&](int reader) {
    return reader != writers[0] && IsCovered(schedule, writers[0], reader, buffer);
  });
}

namespace {

// Puts the copy and the changed blocks into the body of the scope.
class CopyInserter {
 public:
  CopyInserter(const Schedule& schedule, const std::vector<int>& rows, const std::function<Block(const Block&)>& change,
               Stmt copy, CopyPlace place)
      : schedule_(schedule),
        rows_(rows),
        change_(change),
        copy_(std::move(copy)),
        place_(place),
        above_(schedule.StmtOf(place.above)) {
    for (int row : rows) blocks_.push_back(schedule.StmtOf(row));
  }
  std::vector<BlockReuse> reuse;

  Stmt BodyOf(int scope) {
    const Stmt& body = schedule_.BlockOf(scope).body;
    if (place_.above == scope) return WithCopy(body, scope);
    return *RewriteTreeAt(body, PlacesIn(scope), [&](const Stmt& below) { return Replaced(below); });
  }

 private:
  // The children of `above` in which something changes.
  std::vector<size_t> PlacesIn(int above) const {
    std::vector<size_t> places;
    for (int row : rows_)
      if (schedule_.IsAncestor(above, row)) places.push_back(ChildIndexTowards(schedule_, above, row));
    if (schedule_.IsAncestor(above, place_.above)) places.push_back(ChildIndexTowards(schedule_, above, place_.above));
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }
  Stmt WithCopy(const Stmt& body, int above) {
    const Seq* seq = body.As<Seq>();
    std::vector<Stmt> children = seq != nullptr ? seq->stmts : std::vector<Stmt>{body};
    for (size_t place : PlacesIn(above))
      children[place] = *RewriteTree(children[place], [&](const Stmt& below) { return Replaced(below); });
    children.insert(children.begin() + place_.child, copy_);
    return MakeSeq(std::move(children));
  }
  Replacement Replaced(const Stmt& stmt) {
    if (stmt.same_as(above_)) {
      For loop = *stmt.As<For>();
      loop.body = WithCopy(loop.body, place_.above);
      return std::vector<Stmt>{std::move(loop)};
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (!stmt.same_as(blocks_[i])) continue;
      BlockRealize changed = *stmt.As<BlockRealize>();
      changed.block = change_(changed.block);
      reuse.push_back({rows_[i], changed.block});
      return std::vector<Stmt>{std::move(changed)};
    }
    return std::nullopt;
  }

  const Schedule& schedule_;
  const std::vector<int>& rows_;
  const std::function<Block(const Block&)>& change_;
  const Stmt copy_;
  const CopyPlace place_;
  const Stmt above_;
  std::vector<Stmt> blocks_;
};

}  // namespace

Status InsertCopy(Schedule& schedule, const std::vector<int>& rows, const std::function<Block(const Block&)>& change,
                  Stmt copy, CopyPlace place, const Buffer& cache, const char* primitive) {
  for (int row : rows) RETURN_IF_ERROR(CheckNotInInit(schedule, row, primitive));
  const int scope = schedule.ScopeOf(rows.at(0));
  const BlockRealize& realize = schedule.RealizeOf(scope);
  CopyInserter inserter(schedule, rows, change, std::move(copy), place);
  Stmt changed = inserter.BodyOf(scope);
  std::vector<int> around;
  for (int row : rows)
    for (int loop : schedule.LoopsOf(row)) around.push_back(loop);
  return ReplaceUnderMarks(schedule, scope, WithBody(realize, std::move(changed), {cache}), around, primitive,
                           rows.back(), inserter.reuse);
}

}  // namespace lathe
