#include "compiler/schedule/cache_stage.h"

#include <fmt/core.h>

#include "compiler/schedule/analysis.h"
#include "compiler/schedule/independence.h"
#include "compiler/schedule/rewrite_tree.h"

namespace lathe {

Status CheckBufferIndex(const Schedule& schedule, int row, const char* primitive, int index, BufferSide side) {
  if (schedule.ScopeOf(row) < 0) return schedule.Error(primitive, row, "the root block has no scope");
  const bool is_read = side == BufferSide::kRead;
  const size_t count = is_read ? schedule.BlockOf(row).reads.size() : schedule.BlockOf(row).writes.size();
  if (index >= 0 && size_t(index) < count) return OkStatus();
  return schedule.Error(
      primitive, row,
      fmt::format("it has {} {} regions, index {} is not among them", count, is_read ? "read" : "write", index));
}

StatusOr<size_t> PlaceBeforeReader(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive) {
  const int scope = schedule.ScopeOf(row);
  const std::vector<int> writers = schedule.Scope(scope).WritersOf(buffer);
  if (writers.empty()) return size_t{0};
  if (writers.size() > 1)
    return schedule.Error(
        primitive, row,
        fmt::format("buffer \"{}\" has {} writers in this scope, at most 1 is allowed", buffer->name, writers.size()));
  if (writers[0] == row)
    return schedule.Error(primitive, row, fmt::format("it writes buffer \"{}\" itself", buffer->name));
  if (const WhyNot why = WhyNotSchedulable(schedule, writers[0]); !why.empty())
    return schedule.Error(primitive, row, why);
  const size_t made_in = ChildIndexTowards(schedule, scope, writers[0]);
  if (ChildIndexTowards(schedule, scope, row) > made_in) return made_in + 1;
  return schedule.Error(
      primitive, row,
      fmt::format("it is in the nest that makes buffer \"{}\", so no copy can be made before it", buffer->name));
}

Status InsertCopy(Schedule& schedule, const std::vector<int>& rows, const std::function<Block(const Block&)>& change,
                  Stmt copy, size_t place, const Buffer& cache, const char* primitive) {
  const int scope = schedule.ScopeOf(rows.at(0));
  const BlockRealize& realize = schedule.RealizeOf(scope);
  std::vector<Stmt> blocks;
  for (int row : rows) blocks.push_back(schedule.StmtOf(row));
  std::vector<BlockReuse> reuse;
  const Seq* seq = realize.block->body.As<Seq>();
  std::vector<Stmt> children = seq != nullptr ? seq->stmts : std::vector<Stmt>{realize.block->body};
  for (Stmt& child : children) {
    child = *RewriteTree(child, [&](const Stmt& stmt) -> Replacement {
      for (size_t i = 0; i < rows.size(); ++i) {
        if (!stmt.same_as(blocks[i])) continue;
        BlockRealize changed = *stmt.As<BlockRealize>();
        changed.block = change(changed.block);
        reuse.push_back({rows[i], changed.block});
        return std::vector<Stmt>{std::move(changed)};
      }
      return std::nullopt;
    });
  }
  children.insert(children.begin() + place, std::move(copy));
  std::vector<int> around;
  for (int row : rows)
    for (int loop : schedule.LoopsOf(row)) around.push_back(loop);
  return ReplaceUnderMarks(schedule, scope, WithBody(realize, MakeSeq(std::move(children)), {cache}), around, primitive,
                           rows.back(), reuse);
}

}  // namespace lathe
