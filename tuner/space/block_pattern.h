// What a rule wants to know about a block before it schedules it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// How a region moves with an iter over its first `lanes` values: not at all, by one element each, by some (at most
// kMaxLoadStride), or otherwise.
enum class Stride : uint8_t { kZero, kOne, kShort, kOther };
Stride StrideOf(const BlockNode& block, const BufferRegion& region, size_t iter, int64_t lanes);

// The vectors that a block of one output can be computed in.
struct Vectors {
  int64_t lanes = 0;  // Of the type that it writes, in one register.
  // The most of which some are left out at no great cost, in one register or several; at least `lanes`.
  int64_t masked_lanes = 0;
};
Vectors VectorsFor(const BlockNode& block, const Target& target);

// Data-parallel iters along which the block can compute neighbours by vectors: every read is a broadcast or has lanes
// that are neighbours, or a few elements apart; one has lanes. Those along which the writes have stride 1 come first,
// those with lanes apart last.
std::vector<size_t> VectorizableIters(const BlockNode& block, const Vectors& vectors);

// A read that is worth a layout in which its lanes are neighbours: position among the block's reads, the dimension of
// its buffer that they run along, and how many elements they are apart there.
struct PackedRead {
  size_t read = 0, lane_dim = 0;
  int64_t apart = 1;
};
// What to lay out anew so that the block can be computed by `lanes` neighbours along the iter: reads whose lanes are
// far apart (a product with the transposed), which must be used often enough to pay for it; those whose lanes are a few
// elements apart (stride 2); and those of at least `many_bytes` whose rows lie far apart. nullopt: no layout helps.
// Empty: there is no need.
std::optional<std::vector<PackedRead>> ReadsToPack(const BlockNode& block, size_t iter, int64_t lanes,
                                                   int64_t many_bytes);

// The largest lane count that divides `extent`: `vectors.lanes`, or a smaller power of two, at least 4. Else all lanes,
// guarded, where the extent is larger; or more lanes than the extent, where one vector does it all (14 of 16): which
// are left out is known then. Of several vectors it is not, which costs more than they save. 1: none.
int64_t ChooseLanes(int64_t extent, const Vectors& vectors);

// Whether the region depends on the iter.
bool Moves(const BufferRegion& region, const Var& iter);
// The position of the buffer among what the block reads.
std::optional<size_t> PositionOfRead(const BlockNode& block, const Buffer& buffer);

// A block that rules may schedule: one output, loops of its own that its iters are bound to one by one, no block in it.
bool IsPlain(const Schedule& schedule, int row);

// There is a read that some data-parallel iter of more than one iteration does not move: tiling can reuse it.
bool HasDataReuse(const BlockNode& block);
// The largest of its reads has at least `bytes` and is used once (a vector by a matrix): no tile saves loading it.
bool StreamsOnce(const BlockNode& block, int64_t bytes);
// An if_then_else or select stands in the body, as in padding.
bool HasBranch(const BlockNode& block);
// So little is computed per element, without a call and not in 16 bits (which may be emulated), that accumulators in
// registers leave room for it.
bool IsLight(const BlockNode& block);
// Constant extent of an iter, 1 or more.
int64_t ExtentOf(const IterVar& iter);

}  // namespace lathe
