// The schedule of a reduction block with data reuse on a CPU: S S R R S, the innermost level a register tile.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/dot_product.h"

namespace lathe {

// Where what the block reads is made (padding): before it, in each outer tile, or where it is read, guarded; loops are
// split at the guards when they are lowered (loop_partition). The last is refused where the lanes are guarded, each on
// its own.
enum class Inputs : uint8_t { kBeforehand, kAtOuter, kInlined };

struct TilingOptions {
  size_t vector_iter = 0;  // Position of the iter var that becomes vector lanes (VectorizableIters).
  int64_t lanes = 1;       // Of it.
  Inputs inputs = Inputs::kBeforehand;
  // Laid out anew: what another block makes, where it is made; what comes from outside, by a copy.
  std::vector<PackedRead> packed;
  bool copies_at_outer = true;  // Such copies are made per outer tile instead of beforehand.
  // By an instruction whose lanes these are: what it reads is laid out for it, `packed` is empty.
  std::optional<DotTiling> dot;
};

// Tiles block `name` of the root scope:
//   parallel [fused outer tiles] { middle tiles { outer reductions { inner reductions (unrolled) {
//     register tile (unrolled) { vector lanes } } } write back with epilogue } }
// The accumulators are a cache in scope "register", written back by the block's one element-wise consumer, if there is
// one. Tile sizes are sampled; their product is for a constraint to check (RegistersNeeded).
Status TileReduction(Schedule& schedule, const std::string& name, const Target& target, const TilingOptions& options);

}  // namespace lathe
