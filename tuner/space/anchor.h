// The block that a function's tiles are of, and what the rules for tiles want to know about it.
#pragma once

#include <optional>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/multi_level_tiling.h"

namespace lathe {

// A reduction with data reuse that can have lanes: as it is, or by an instruction that what it reads is laid out for.
bool IsAnchor(const Schedule& schedule, int row, const Target& target);

// The one reduction of the function, a plain stage; nullopt: none, several, or no such.
std::optional<int> SoleReduction(const Schedule& schedule);

// The root block with the most iterations among those that tiling helps: anchors, and what is one by another layout of
// what it reads. nullopt: there is none, or the function is a ProductChain, which has tiles of its own.
std::optional<int> FindAnchor(const Schedule& schedule, const Target& target);

// What to lay out anew where the iter has lanes; nullopt: nothing.
std::optional<std::vector<PackedRead>> LayoutsFor(const Schedule& schedule, int row, size_t iter, int64_t lanes,
                                                  const Target& target);

// The tile with these layouts. What tiles beside each other share (the windows of a convolution) is laid out
// beforehand.
TilingOptions TilingOfLayouts(const BlockNode& block, size_t iter, int64_t lanes, std::vector<PackedRead> packed);

// Iters with neighbouring writes that can have lanes by another layout, as the columns of a product with the
// transposed.
std::vector<size_t> PackableIters(const Schedule& schedule, int row, const Target& target);

}  // namespace lathe
