// The schedule of a reduction block with data reuse on a CPU: S S R R S, the innermost level a register tile.
#pragma once

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

struct TilingOptions {
  size_t vector_iter = 0;        // Position of the iter var that becomes vector lanes (VectorizableIters).
  bool inputs_at_outer = false;  // Producers (padding) are computed per outer tile instead of beforehand.
};

// Tiles block `name` of the root scope:
//   parallel [fused outer tiles] { middle tiles { outer reductions { inner reductions (unrolled) {
//     register tile (unrolled) { vector lanes } } } write back with epilogue } }
// The accumulators are a cache in scope "register", written back by the block's one element-wise consumer, if there is
// one. Tile sizes are sampled; their product is for a constraint to check (RegisterTile).
Status TileReduction(Schedule& schedule, const std::string& name, const Target& target, const TilingOptions& options);

// Vector registers that the accumulators, one row of loads and one broadcast of the tile take, the latter twice where
// the reduction is unrolled; 0 if the function has no register tile.
int64_t RegistersNeeded(const PrimFunc& scheduled, const Target& target);

}  // namespace lathe
