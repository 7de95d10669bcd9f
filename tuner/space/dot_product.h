// Reductions whose steps a dot-product instruction takes several at a time (VNNI, AVX-512-BF16, ARM's sdot).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/builtin_intrin.h"
#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// How the instruction computes a block C[.., n] = C[.., n] + c_type(A[.., k]) * c_type(B[.., n, .., k]):
// positions of iter vars and of what the block reads. Its lanes run along `lane_iter`, its parts along `reduce_iter`.
struct DotTiling {
  DotIntrin intrin;
  size_t lane_iter = 0, reduce_iter = 0;
  size_t a_read = 0, b_read = 0;
  // Dimensions: of A along the reduction; of B along it and along the lanes.
  size_t a_dim = 0, b_dim = 0, b_lane_dim = 0;
  // Laid out anew: A where its parts are no neighbours, B unless it is given in panels.
  bool packs_a = false, packs_b = true;
};

// Those that the target has, the widest of each pair of iter vars: extents are multiples of lanes and parts, nothing
// but these iter vars stands in the dimensions above (or B is in panels, B[.., n // lanes, .., k // parts, .., n %
// lanes, k % parts]), and C's neighbours lie along the lanes. Empty: none.
std::vector<DotTiling> DotTilingsOf(const BlockNode& block, const Target& target,
                                    std::span<const DotIntrin> intrins = DotIntrins());

// Copies of what the block reads in the instruction's order, B as B[.., n // lanes, k // parts, n % lanes, k % parts];
// to be called before the block is tiled. The blocks that copy.
StatusOr<std::vector<BlockRV>> PackForDot(Schedule& schedule, BlockRV block, const DotTiling& dot);

// Schedules those copies, in parallel and by vectors. Panels are written one after the other, as many at once as have
// their lanes in one line of what is read.
Status SchedulePacks(Schedule& schedule, const std::vector<BlockRV>& copies, const DotTiling& dot);

// Makes the loop over the lanes, with the one over the parts in it, a block that is to become the instruction when the
// function is lowered (RewriteTensorize); until then it is plain loops. `update` has no init any more.
Status MarkDot(Schedule& schedule, LoopRV lanes, const DotTiling& dot);

}  // namespace lathe
