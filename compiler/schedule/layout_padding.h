// What fills the gaps that a transformed layout leaves (transform_layout.h).
#pragma once

#include <unordered_map>

#include "compiler/arith/index_map.h"
#include "compiler/schedule/schedule.h"

namespace lathe {

// A buffer on its way from one layout to another, with gaps.
struct PaddedLayout {
  Buffer from, to;
  PaddedIndexMap inverse;  // From indices of `to`; its predicate is true in the gaps.
  IndexMap value;          // What is in the gaps, by indices of `to`.
};

// What is to be changed below the statement where the buffer is introduced. Statements still use `from`.
struct PaddingPlan {
  std::optional<Stmt> prologue;  // Comes first.
  // Loops, each by one that also runs over the gaps.
  std::unordered_map<const StmtNode*, Stmt> replacements;
  // The blocks in them, by what they were.
  std::unordered_map<const BlockNode*, Block> originals;
  // In them, where an element of the old layout is in the new one.
  struct Place {
    std::vector<Expr> from, to;
  };
  std::unordered_map<const BlockNode*, Place> places;
  std::optional<Stmt> anchor, epilogue;  // Right after `anchor` comes `epilogue`.
};

PaddingPlan PlanPadding(const Stmt& site, const PaddedLayout& layout);

}  // namespace lathe
