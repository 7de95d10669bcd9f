#pragma once

#include <span>

#include "compiler/schedule/schedule.h"

namespace lathe {

// What blockize puts in the place of `loop`, a row, and which block of it the old one is. For whoever goes on from
// there.
struct Blockized {
  BlockRealize realize;
  BlockReuse inner;
};
StatusOr<Blockized> MakeBlockized(const Schedule& schedule, int loop, bool preserve_unit_iters);

// Makes the nest from `loop` down a block of its own, around the one block below.
//   for i0, i1 { block B: vi = i0*16+i1; B[vi] = A[vi] }                                                    (loop = i1)
//     -->  for i0 { block B_o: vi_o = i0;  for i1 { block B: vi_i = i1; B[vi_o*16+vi_i] = A[vi_o*16+vi_i] } }
// The bindings and the predicate of the block can be divided into a part of the loops outside and one of those inside.
// An init becomes the new block's, as a nest of its own. Unit loops count as iterators if `preserve_unit_iters`.
// Handles of the block follow the inner one. Returns the new block.
StatusOr<BlockRV> Blockize(Schedule& schedule, LoopRV loop, bool preserve_unit_iters = true);

// Makes one block around several, without inits, whose nests are neighbours and alone in their loops.
//   for i { for j { block B: ... } for j { block C: ... } }
//     -->  for i { block outer_B_C_: vi_o = i;  for j { block B: ... } for j { block C: ... } }
// They come in the order given, which what they do to each other has to allow. The loops around all of them divide
// their bindings alike.
StatusOr<BlockRV> Blockize(Schedule& schedule, std::span<const BlockRV> blocks, bool preserve_unit_iters = true);

}  // namespace lathe
