#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Pads the domain of each iter var to a multiple of padding[i]: inputs are copied into buffers with zeros behind, the
// output comes from a larger one.
//   for i in 0..5, k in 0..6 { block C: C[vi] += A[vi, vk] * B[vk] }                                     (padding [4,
//   4])
//     -->  block A_pad: A_pad[v0, v1] = if_then_else(v0 < 5 and v1 < 6, A[v0, v1], 0)   ...
//          for i in 0..8, k in 0..8 { block C: C_pad[vi] += A_pad[vi, vk] * B_pad[vk] }   block C_pad: C[v0] =
//          C_pad[v0]
// The block has its nest for itself, whose loops take each step of it once; an iter var that is padded has a loop for
// itself, each index is an iter var or a constant, and padded dimensions are those that the iter var runs over. A
// padded reduction is a sum of products of which one factor has the iter var as an index. Handles of loops and of the
// block stay.
Status PadEinsum(Schedule& schedule, BlockRV block, std::span<const int64_t> padding);

}  // namespace lathe
