// How long a store's nest takes on a simple processor: what is known before anything was measured. Only the order of
// candidates counts.
#pragma once

#include "compiler/target/target.h"
#include "tuner/feature/footprint.h"

namespace lathe {

// The innermost unrolled and vectorized loops of a store: what the compiler sees as straight code. Counts of vector
// instructions.
struct TileShape {
  size_t first_loop = 0;  // Position of its outermost loop; the number of loops if there is no tile.
  double lanes = 1;       // Extent of the vectorized loop.
  double registers_per_vector = 1;
  double copies = 1;             // Of the statement, by unrolling.
  double reduce_copies = 1;      // Those that add to the same place.
  double accumulators = 1;       // Registers that the stored places take.
  double loads = 0, stores = 0;  // Loads: with neighbouring lanes, and broadcasts.
  double gathers = 0;            // Lanes loaded or stored one by one.
  double operations = 0;
  double vectors_in_flight = 0;  // Registers for one step's vector loads.
  double registers_needed() const { return accumulators + vectors_in_flight + 1; }
};
TileShape MeasureTile(const IndexSpace& space, const StoreNest& nest, const Target& target);

// Cycles of one core while the whole nest runs.
struct DraftEstimate {
  double compute = 0, ports = 0, latency = 0, front_end = 0, spills = 0;  // Straight code: the largest binds.
  double l2 = 0, l3 = 0, memory = 0;                                      // Lines that come from there.
  double loop_overhead = 0;
  double total = 0;
};
// The bounds of straight code and of the caches; the largest of them binds.
struct DraftBound {
  const char* name;
  double DraftEstimate::* cycles;
};
inline constexpr DraftBound kDraftBounds[] = {
    {"compute", &DraftEstimate::compute},     {"ports", &DraftEstimate::ports}, {"latency", &DraftEstimate::latency},
    {"front_end", &DraftEstimate::front_end}, {"l2", &DraftEstimate::l2},       {"l3", &DraftEstimate::l3},
    {"memory", &DraftEstimate::memory}};
DraftEstimate EstimateNest(const NestFootprints& footprints, const StoreNest& nest, const TileShape& tile,
                           const Target& target);

// How the parallel loops of a nest share its work out. Of a nest without any: one task.
struct ParallelShape {
  double tasks = 1;     // Iterations of the parallel loops.
  double launches = 0;  // Times that they start.
  double speedup = 1;   // At most the cores; less where they wait for the last task.
};
ParallelShape MeasureParallel(const StoreNest& nest, const Target& target);

// Cycles until all cores are done.
double WallCycles(const DraftEstimate& estimate, const ParallelShape& parallel, const Target& target);

}  // namespace lathe
