// Ansor's derivation of sketches, as a generator of traces.
#pragma once

#include <memory>

#include "tuner/space/space_generator.h"

namespace lathe {

// From the output block backwards, each block is treated by the rules of a table, in their order: put into its
// consumer, reduced by lanes (rfactor), given a write cache, tiled as S S R S R S with its element-wise consumer under
// the first or the second level of tiles, tiled alone, or skipped. A rule may leave several states, and other rules may
// leave more; what is left at the end is annotated: parallel outermost, vectors innermost, unrolled by sampled depths,
// and small producers in each place that they may have. Tile sizes are sampled.
// Accumulators under the second level of tiles are promised to be registers (what spills is refused), others are
// memory.
std::unique_ptr<SpaceGenerator> MakeSketchRules();

}  // namespace lathe
