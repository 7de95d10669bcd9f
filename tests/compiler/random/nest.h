// Loops around a block. Private to this folder.
#pragma once

#include "tests/compiler/random/draft.h"

namespace lathe {

struct Axis {
  Dim extent;
  IterKind kind = IterKind::kSpatial;
};

// What a block does, given the values of its axes.
struct Body {
  Stmt stmt;
  std::optional<Stmt> init;
  std::vector<Buffer> allocs;
  std::vector<MatchBufferRegion> matches;
};
using MakeBody = std::function<Body(const std::vector<Point>&)>;

// What the nest may do to the instances of the block. Reduce axes begin at their minimum in any case.
struct NestFreedom {
  bool may_skip = false;    // Leave some out: what the block writes has been written before.
  bool may_repeat = false;  // Run some twice.
  bool is_plain = false;    // One loop for each axis, in their order, around the block and nothing else.
  bool may_reorder = true;  // Run them in another order, where the block's iter vars are spatial or reduce.
};

// A block over `axes` with its loops: bound one to one, by tiles with a tail, fused, shifted, mirrored, by a let ...;
// under conditions; inside another block. In a shared loop the first axis is its row.
Stmt MakeNest(Draft& draft, const std::vector<Axis>& axes, const NestFreedom& freedom, const MakeBody& make);

std::vector<Axis> SpatialAxes(const Shape& shape);
std::vector<Expr> IndicesOf(const std::vector<Point>& points, size_t count);  // Of the first `count`.

}  // namespace lathe
