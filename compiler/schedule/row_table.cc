#include "compiler/schedule/row_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>

#include "compiler/ir/child_stmts.h"

namespace lathe {
namespace {

// What a row of this statement is found by; nullptr if it is neither loop nor block.
const void* KeyOf(const StmtNode& node) {
  if (const For* loop = std::get_if<For>(&node.value)) return loop->loop_var.get();
  if (const BlockRealize* realize = std::get_if<BlockRealize>(&node.value)) return realize->block.get();
  return nullptr;
}

bool IsLoopNode(const StmtNode& node) { return std::holds_alternative<For>(node.value); }
const BlockNode& BlockIn(const StmtNode& node) { return *std::get<BlockRealize>(node.value).block; }
uint32_t HashOf(std::string_view name) { return static_cast<uint32_t>(std::hash<std::string_view>()(name)); }

// The indices of the children that lead from `stmt` to `target`, with no loop or block between.
using Path = boost::container::small_vector<size_t, 8>;
bool FindPath(const Stmt& stmt, const StmtNode* target, Path& path) {
  if (const For* loop = stmt.As<For>(); loop != nullptr && loop->body.get() == target) {  // What is met most.
    path.push_back(0);
    return true;
  }
  if (const Seq* seq = stmt.As<Seq>()) {  // What may be long.
    const auto found =
        std::find_if(seq->stmts.begin(), seq->stmts.end(), [&](const Stmt& child) { return child.get() == target; });
    if (found != seq->stmts.end()) {
      path.push_back(size_t(found - seq->stmts.begin()));
      return true;
    }
  }
  size_t index = 0;
  return AnyChildStmt(stmt, [&](const Stmt& child) {
    path.push_back(index++);
    if (child.get() == target) return true;
    if (KeyOf(child.node()) == nullptr && FindPath(child, target, path)) return true;
    path.pop_back();
    return false;
  });
}

// Puts `replacement` in place of the child at `index`; a sequence becomes part of a sequence.
void ReplaceChild(Stmt& parent, size_t index, Stmt replacement) {
  const Seq* inner = replacement.As<Seq>();
  if (inner == nullptr || parent.As<Seq>() == nullptr) {
    MutableChildStmt(parent, index) = std::move(replacement);
    return;
  }
  std::vector<Stmt>& stmts = parent.Mutable<Seq>().stmts;
  stmts.erase(stmts.begin() + static_cast<std::ptrdiff_t>(index));
  stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(index), inner->stmts.begin(), inner->stmts.end());
}

// Whether `child` of `stmt` is directly below the row that `stmt` is, or, where `is_direct`, that it is directly below.
bool IsDirectBelow(const Stmt& stmt, const Stmt& child, bool is_direct) {
  if (stmt.As<For>() != nullptr) return true;
  if (const BlockRealize* realize = stmt.As<BlockRealize>()) return child.same_as(realize->block->body);
  return is_direct && stmt.As<Seq>() != nullptr;
}

}  // namespace

// ---- The hash of keys --------------------------------------------------------------------------------------------

size_t RowTable::BucketOf(const void* key) const {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(key) * 0x9e3779b97f4a7c15u;
  return static_cast<size_t>(mixed >> 32) & (buckets_.size() - 1);
}

int RowTable::Find(const void* key) const {
  if (buckets_.empty()) return -1;
  int row = buckets_[BucketOf(key)];
  while (row >= 0 && rows_[row].key != key) row = rows_[row].next_in_bucket;
  return row;
}

void RowTable::Insert(int row) {
  int& head = buckets_[BucketOf(rows_[row].key)];
  rows_[row].next_in_bucket = head;
  head = row;
}

void RowTable::Erase(int row) {
  int* link = &buckets_[BucketOf(rows_[row].key)];
  while (*link != row) link = &rows_[*link].next_in_bucket;
  *link = rows_[row].next_in_bucket;
}

void RowTable::Grow() {
  buckets_.assign(std::max<size_t>(64, buckets_.size() * 2), -1);
  named_.assign(buckets_.size(), -1);
  for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
    if (rows_[row].node == nullptr) continue;
    Insert(row);
    InsertName(row);
  }
}

void RowTable::InsertName(int row) {
  if (rows_[row].is_loop) return;
  rows_[row].name_hash = HashOf(BlockIn(*rows_[row].node).name);
  int& head = named_[rows_[row].name_hash & (named_.size() - 1)];
  rows_[row].next_named = head;
  head = row;
}

void RowTable::EraseName(int row) {
  if (rows_[row].is_loop) return;
  int* link = &named_[rows_[row].name_hash & (named_.size() - 1)];
  while (*link != row) link = &rows_[*link].next_named;
  *link = rows_[row].next_named;
}

std::vector<int> RowTable::BlocksNamed(std::string_view name) const {
  std::vector<int> found;
  if (named_.empty()) return found;
  const uint32_t hash = HashOf(name);
  for (int row = named_[hash & (named_.size() - 1)]; row >= 0; row = rows_[row].next_named)
    if (rows_[row].name_hash == hash && BlockIn(*rows_[row].node).name == name) found.push_back(row);
  return found;
}

int RowTable::NewRow(const StmtNode* node, const void* key) {
  if (rows_.size() >= buckets_.size()) Grow();
  int row = free_;
  if (row >= 0) {
    free_ = rows_[row].next_sibling;
  } else {
    row = static_cast<int>(rows_.size());
    rows_.emplace_back();
  }
  rows_[row] = Row{.node = node,
                   .key = key,
                   .generation = rows_[row].generation,
                   .changed_at = replacements_,
                   .is_loop = IsLoopNode(*node)};
  Insert(row);
  InsertName(row);
  return row;
}

void RowTable::Forget(int row) {
  Erase(row);
  EraseName(row);
  rows_[row] = Row{.next_sibling = free_, .generation = rows_[row].generation + 1};
  free_ = row;
}

void RowTable::SetNode(int row, const StmtNode* node) {
  rows_[row].node = node;
  if (rows_[row].key == KeyOf(*node)) return;
  Erase(row);
  EraseName(row);
  rows_[row].key = KeyOf(*node);
  Insert(row);
  InsertName(row);
}

// ---- Finding rows anew -------------------------------------------------------------------------------------------

bool RowTable::IsAtOrBelow(int row, int top) const {
  while (row >= 0 && row != top) row = rows_[row].parent;
  return row == top;
}

// Lists the loops and blocks of `stmt`, the outer ones first; below nodes that are as they were it does not look.
// Strangers get rows (`fresh`). False if a loop variable or a block comes up twice, or belongs elsewhere than below row
// `below`.
bool RowTable::Collect(const Stmt& stmt, int parent, bool is_direct, int below, Places& places, Rows& fresh) {
  if (const void* key = KeyOf(stmt.node())) {
    int row = Find(key);
    if (row < 0) {
      row = NewRow(stmt.get(), key);
      fresh.push_back(row);
    } else if (rows_[row].placed_at == replacements_ || below < 0 || !IsAtOrBelow(row, below)) {
      return false;
    }
    const bool is_whole = rows_[row].node == stmt.get() && (fresh.empty() || fresh.back() != row);
    rows_[row].placed_at = replacements_;
    rows_[row].is_whole = is_whole;
    places.push_back(Place{stmt.get(), row, parent, is_whole, is_direct});
    if (is_whole) return true;
    parent = static_cast<int>(places.size()) - 1;
  }
  return !AnyChildStmt(stmt, [&](const Stmt& child) {
    return !Collect(child, parent, IsDirectBelow(stmt, child, is_direct), below, places, fresh);
  });
}

// The rows at and below `row` that were not found again, by the links of before.
void RowTable::CollectGone(int row, Rows& gone) const {
  if (rows_[row].placed_at != replacements_)
    gone.push_back(row);
  else if (rows_[row].is_whole)
    return;
  for (int child = rows_[row].first_child; child >= 0; child = rows_[child].next_sibling) CollectGone(child, gone);
}

// `place`, for which a row was made, is what `old_row` stood for.
void RowTable::TakeOver(Place& place, int old_row, Rows& fresh, Rows& gone) {
  fresh.erase(std::remove(fresh.begin(), fresh.end(), place.row), fresh.end());
  gone.erase(std::remove(gone.begin(), gone.end(), old_row), gone.end());
  Forget(place.row);
  place.row = old_row;
  rows_[old_row].placed_at = replacements_;
  rows_[old_row].is_whole = false;
}

// Blocks that were rebuilt: by what the primitive says, else by their name where only one can be meant.
void RowTable::FollowBlocks(Places& places, Rows& fresh, Rows& gone, const std::vector<BlockReuse>& reuse) {
  const auto is_one_of = [](const Rows& rows, int row) {
    return std::find(rows.begin(), rows.end(), row) != rows.end();
  };
  for (const BlockReuse& pair : reuse) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const Place& p) {
      return !rows_[p.row].is_loop && &BlockIn(*p.node) == pair.block.get();
    });
    CHECK(place != places.end()) << "block \"" << pair.block->name << "\" is not in the replacement";
    if (place->row != pair.row && is_one_of(gone, pair.row)) TakeOver(*place, pair.row, fresh, gone);
  }
  if (fresh.empty() || gone.empty()) return;
  const auto name_of = [&](int row) { return std::string_view(BlockIn(*rows_[row].node).name); };
  const auto sole = [&](const Rows& rows, std::string_view name) {
    int found = -1;
    for (int row : rows) {
      if (rows_[row].is_loop || name_of(row) != name) continue;
      if (found >= 0) return -1;
      found = row;
    }
    return found;
  };
  for (Place& place : places) {
    if (place.is_whole || rows_[place.row].is_loop || !is_one_of(fresh, place.row)) continue;
    const std::string_view name = name_of(place.row);
    const int old_row = sole(gone, name);
    if (old_row >= 0 && sole(fresh, name) == place.row) TakeOver(place, old_row, fresh, gone);
  }
}

// Chains the rows of `places` below `parent`, between the siblings `before` and `after`; `is_direct`: the place is.
void RowTable::Link(const Places& places, int parent, int before, int after, bool is_direct) {
  for (const Place& place : places)
    if (!place.is_whole) rows_[place.row].first_child = -1;
  Rows last(places.size(), -1);  // Last child so far, by place.
  int last_on_top = before;
  for (const Place& place : places) {
    const int above = place.parent < 0 ? parent : places[place.parent].row;
    int& previous = place.parent < 0 ? last_on_top : last[place.parent];
    if (previous >= 0)
      rows_[previous].next_sibling = place.row;
    else if (above >= 0)
      rows_[above].first_child = place.row;
    previous = place.row;
    rows_[place.row].parent = above;
    rows_[place.row].is_direct = place.is_direct && (place.parent >= 0 || is_direct);
    rows_[place.row].next_sibling = -1;
  }
  if (last_on_top >= 0)
    rows_[last_on_top].next_sibling = after;
  else if (parent >= 0)
    rows_[parent].first_child = after;
}

int RowTable::Add(const Stmt& body) {
  ++replacements_;
  if (rows_.empty()) rows_.reserve(128);
  Places places;
  Rows fresh;
  if (!Collect(body, -1, true, -1, places, fresh)) return -1;
  Link(places, -1, -1, -1, true);
  return places.front().row;
}

// Goes down from `root` to row's statement, makes each node above its own, and calls f(the last of them, the place of
// the statement among its children). `row` is no root block.
template <typename F>
void RowTable::Descend(Stmt& root, int row, F f) {
  boost::container::small_vector<int, 32> down;  // Innermost first.
  for (int above = row; above >= 0; above = rows_[above].parent) down.push_back(above);
  Stmt* at = &root;
  for (size_t i = down.size() - 1; i > 0; --i) {
    Path path;
    CHECK(FindPath(*at, rows_[down[i - 1]].node, path)) << "row " << row << " is not in the function";
    const Stmt* outer = at;
    for (size_t k = 0; k < path.size(); ++k) {
      if (i == 1 && k + 1 == path.size())
        f(*at, path[k]);
      else
        at = &MutableChildStmt(*at, path[k]);
    }
    if (rows_[down[i]].is_loop)  // Has its variable still.
      rows_[down[i]].node = outer->get();
    else
      SetNode(down[i], outer->get());
    rows_[down[i]].changed_at = replacements_;
  }
}

void RowTable::Splice(Stmt& root, int row, Stmt replacement) {
  if (rows_[row].parent < 0)
    root = std::move(replacement);
  else
    Descend(root, row, [&](Stmt& above, size_t place) { ReplaceChild(above, place, std::move(replacement)); });
}

Stmt& RowTable::OwnStmt(Stmt& root, int row) {
  Stmt* own = &root;
  if (rows_[row].parent >= 0)
    Descend(root, row, [&](Stmt& above, size_t place) { own = &MutableChildStmt(above, place); });
  return *own;
}

RowTable::Changes RowTable::Replace(Stmt& root, int row, Stmt replacement, const std::vector<BlockReuse>& reuse) {
  ++replacements_;
  const Stmt old = Stmt::Of(*rows_[row].node);  // Lives on while nodes are compared.
  Places places;
  Rows fresh, gone;
  const bool is_direct = rows_[row].is_direct;
  CHECK(Collect(replacement, -1, true, row, places, fresh)) << "a loop variable or a block stands twice";
  CollectGone(row, gone);
  const int parent = rows_[row].parent, after = rows_[row].next_sibling;
  if (parent < 0) {
    CHECK(replacement.As<BlockRealize>() != nullptr) << "a function's body must stay a block";
    if (places[0].row != row) TakeOver(places[0], row, fresh, gone);
  }
  FollowBlocks(places, fresh, gone, reuse);
  int before = -1;
  if (parent >= 0 && rows_[parent].first_child != row)
    for (before = rows_[parent].first_child; rows_[before].next_sibling != row;) before = rows_[before].next_sibling;
  Splice(root, row, std::move(replacement));
  Link(places, parent, before, after, is_direct);
  Changes changes;
  for (const Place& place : places) {
    if (place.parent < 0) changes.tops.push_back(place.row);
    if (place.is_whole) {
      changes.moved.push_back(place.row);
      continue;
    }
    const bool is_new = std::find(fresh.begin(), fresh.end(), place.row) != fresh.end();
    changes.made.push_back({place.row, is_new ? nullptr : rows_[place.row].node});
    rows_[place.row].changed_at = replacements_;
    SetNode(place.row, place.node);
  }
  for (int lost : gone) {
    changes.gone.push_back({lost, rows_[lost].node});
    Forget(lost);
  }
  return changes;
}

// ---- For tests ---------------------------------------------------------------------------------------------------

namespace {

struct Listed {
  const StmtNode* node;
  int parent;  // Its index.
  bool is_direct;
};

void ListRows(const Stmt& stmt, int parent, bool is_direct, std::vector<Listed>& list) {
  if (KeyOf(stmt.node()) != nullptr) {
    list.push_back({stmt.get(), parent, is_direct});
    parent = static_cast<int>(list.size()) - 1;
  }
  ForEachChildStmt(stmt,
                   [&](const Stmt& child) { ListRows(child, parent, IsDirectBelow(stmt, child, is_direct), list); });
}

}  // namespace

std::string RowTable::Inconsistency(const Stmt& root, int root_row) const {
  std::vector<Listed> list;  // In order of the program.
  ListRows(root, -1, true, list);
  std::vector<int> rows;
  const auto walk = [&](const auto& self, int row) -> void {
    rows.push_back(row);
    for (int child = rows_[row].first_child; child >= 0; child = rows_[child].next_sibling) self(self, child);
  };
  walk(walk, root_row);
  if (rows.size() != list.size()) return fmt::format("{} rows for {} statements", rows.size(), list.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows_[rows[i]];
    if (row.node != list[i].node) return fmt::format("row {} is not statement {}", rows[i], i);
    if (row.key != KeyOf(*row.node) || Find(row.key) != rows[i]) return fmt::format("row {} is not found", rows[i]);
    if (!row.is_loop) {
      const std::vector<int> named = BlocksNamed(BlockIn(*row.node).name);
      if (std::find(named.begin(), named.end(), rows[i]) == named.end())
        return fmt::format("row {} is not found by its name", rows[i]);
    }
    const int parent = list[i].parent < 0 ? -1 : rows[list[i].parent];
    if (row.parent != parent) return fmt::format("row {} has parent {}, not {}", rows[i], row.parent, parent);
    if (row.is_direct != list[i].is_direct) return fmt::format("row {} is wrong on what is above it", rows[i]);
  }
  return "";
}

}  // namespace lathe
