#include "compiler/schedule/fact_cache.h"

#include <algorithm>

namespace lathe {
namespace {

const BlockNode& BlockOfNode(const StmtNode& node) { return *std::get<BlockRealize>(node.value).block; }

bool HasViews(const StmtNode* node) {
  return node != nullptr && std::holds_alternative<BlockRealize>(node->value) &&
         !BlockOfNode(*node).match_buffers.empty();
}

// Calls f(row) for the blocks at or below `row`, not for those inside of others.
template <typename F>
void ForEachBlock(const RowTable& rows, int row, F f) {
  if (!rows[row].is_loop) return f(row);
  for (int child = rows[row].first_child; child >= 0; child = rows[child].next_sibling) ForEachBlock(rows, child, f);
}

}  // namespace

// The memory, by its data variable.
void FactCache::NoteWrites(const StmtNode* node, Memories& written) {
  if (node == nullptr || !std::holds_alternative<BlockRealize>(node->value)) return;
  for (const BufferRegion& write : BlockOfNode(*node).writes) written.push_back(write.buffer->data.get());
}

const BlockScope& FactCache::Scope(const Schedule& schedule, int row) {
  for (Kept& kept : scopes_) {
    if (kept.row != row) continue;
    if (kept.is_stale) kept = {row, std::make_shared<const BlockScope>(schedule, row, kept.scope.get())};
    return *kept.scope;
  }
  scopes_.push_back({row, std::make_shared<const BlockScope>(schedule, row)});
  return *scopes_.back().scope;
}

int FactCache::WrongScope(const Schedule& schedule) const {
  const auto is_wrong = [&](const Kept& kept) {
    return !kept.is_stale && !kept.scope->SaysTheSameAs(BlockScope(schedule, kept.row));
  };
  const auto found = std::find_if(scopes_.begin(), scopes_.end(), is_wrong);
  return found == scopes_.end() ? -1 : found->row;
}

const NestNumbers* FactCache::Numbers(const Schedule& schedule, int row) {
  if (static_cast<int>(numbers_.size()) <= row) numbers_.resize(row + 1);
  std::shared_ptr<const NestNumbers>& numbers = numbers_[row];
  if (numbers == nullptr || !numbers->IsStillOf(schedule, row)) numbers = NestNumbers::Of(schedule, row);
  return numbers.get();
}

const MemoryUses& FactCache::Uses(const RowTable& rows, int row, const Stmt& stmt) {
  if (static_cast<int>(uses_.size()) <= row) uses_.resize(row + 1);
  std::shared_ptr<const MemoryUses>& uses = uses_[row];
  if (uses != nullptr && rows[row].changed_at <= uses->seen_at) return *uses;
  const auto fresh = std::make_shared<MemoryUses>(MemoryUsesIn(stmt));
  fresh->seen_at = rows.num_replacements();
  uses = fresh;
  return *uses;
}

FactCache::Outline FactCache::OutlineOf(const RowTable& rows, std::span<const int> tops, int scope) {
  Outline outline{scope, {}};
  for (int top : tops) ForEachBlock(rows, top, [&](int block) { outline.blocks.emplace_back(block, rows[block].key); });
  return outline;
}

void FactCache::ForgetScope(int row) {
  for (Kept& kept : scopes_) kept.is_stale |= kept.row == row;
}

void FactCache::ForgetAnswer(Fact fact, int row) {
  if (row < static_cast<int>(known_.size())) known_[row].answers[static_cast<int>(fact)] = Answer::kUnknown;
}

// A view hides what it reads, so where there are views nothing below the scope is kept.
void FactCache::ForgetReaders(const RowTable& rows, int scope, const Memories& written) {
  const auto knows_cover = [](const Known& known) {
    return known.answers[static_cast<int>(Fact::kRegionCover)] != Answer::kUnknown;
  };
  if (std::none_of(known_.begin(), known_.end(), knows_cover)) return;  // Rows are quicker to look at than regions.
  bool has_views = false;
  for (int above = scope; above >= 0; above = rows[above].parent) has_views = has_views || HasViews(rows[above].node);
  for (int child = rows[scope].first_child; child >= 0; child = rows[child].next_sibling) {
    ForEachBlock(rows, child, [&](int block) {
      const auto& reads = BlockOfNode(*rows[block].node).reads;
      const bool is_reader =
          has_views || std::any_of(reads.begin(), reads.end(), [&](const BufferRegion& read) {
            return std::find(written.begin(), written.end(), read.buffer->data.get()) != written.end();
          });
      if (is_reader) ForgetAnswer(Fact::kRegionCover, block);
    });
  }
}

void FactCache::ForgetScopeAndCovers(const RowTable& rows, int scope) {
  ForgetScope(scope);
  for (int child = rows[scope].first_child; child >= 0; child = rows[child].next_sibling)
    ForEachBlock(rows, child, [&](int block) { ForgetAnswer(Fact::kRegionCover, block); });
}

// What stands in a block sees memory through the block's views, however deep it stands.
void FactCache::ForgetBelowViews(const RowTable& rows, const RowTable::Changes& changes) {
  const auto had_views = [](const RowTable::Change& change) { return HasViews(change.before); };
  const auto has_views = [&](const RowTable::Change& change) { return HasViews(rows[change.row].node); };
  if (std::none_of(changes.gone.begin(), changes.gone.end(), had_views) &&
      std::none_of(changes.made.begin(), changes.made.end(), had_views) &&
      std::none_of(changes.made.begin(), changes.made.end(), has_views))
    return;
  const auto is_below = [&](int row) {
    return std::any_of(changes.tops.begin(), changes.tops.end(), [&](int top) { return rows.IsAtOrBelow(row, top); });
  };
  for (Kept& kept : scopes_) kept.is_stale |= is_below(kept.row);
  for (int row = 0; row < static_cast<int>(known_.size()); ++row)
    if (is_below(row)) ForgetAnswer(Fact::kRegionCover, row);
}

void FactCache::Forget(const RowTable& rows, int replaced, const RowTable::Changes& changes, const Outline& before,
                       bool is_bare) {
  Memories written;  // By blocks that are new, gone or elsewhere.
  const auto forget_answers = [&](int row) {
    ForgetAnswer(Fact::kAffineBinding, row);
    ForgetAnswer(Fact::kRegionCover, row);
  };
  for (const RowTable::Change& change : changes.gone) {
    forget_answers(change.row);
    std::erase_if(scopes_, [&](const Kept& kept) { return kept.row == change.row; });
    NoteWrites(change.before, written);
  }
  for (const RowTable::Change& change : changes.made) {
    forget_answers(change.row);
    ForgetScope(change.row);
    NoteWrites(change.before, written);
    NoteWrites(rows[change.row].node, written);
  }
  for (int row : changes.moved) {  // Blocks directly in a scope that was rebuilt have the loops that they had.
    if (rows[row].parent == replaced && !rows[replaced].is_loop) continue;
    ForEachBlock(rows, row, [&](int block) {
      forget_answers(block);
      NoteWrites(rows[block].node, written);
    });
  }
  ForgetBelowViews(rows, changes);
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  if (before.scope >= 0) {
    if (is_bare || OutlineOf(rows, {changes.tops.data(), changes.tops.size()}, before.scope).blocks != before.blocks)
      ForgetScope(before.scope);
    ForgetReaders(rows, before.scope, written);
  }
  for (const RowTable::Change& change : changes.made)
    if (!rows[change.row].is_loop) ForgetReaders(rows, change.row, written);
}

}  // namespace lathe
