#include "tuner/feature/draft_estimate.h"

#include <cmath>

#include "compiler/target/micro_arch.h"

namespace lathe {
namespace {

// What no table of processors says (the others: MicroArch); candidates of one target are only compared with each other.
constexpr double kDivCycles = 8, kMathCycles = 16;
constexpr double kLoopCycles = 1, kLoopExitCycles = 6;
constexpr double kLaunchCycles = 6000;
constexpr double kShareOfLesserBounds = 0.2;  // Of what overlaps, not all is hidden.

bool IsStraight(const NestLoop& loop) {
  return loop.kind == ForKind::kUnrolled || loop.kind == ForKind::kVectorized || loop.extent == 1;
}

}  // namespace

TileShape MeasureTile(const IndexSpace& space, const StoreNest& nest, const Target& target) {
  TileShape tile;
  const RegisterFile registers = target.register_file();
  const int bits = std::max<int>(8, nest.accesses[0].buffer->dtype.bits);
  tile.first_loop = nest.loops.size();
  const NestLoop* vector = nullptr;
  while (tile.first_loop > 0 && IsStraight(nest.loops[tile.first_loop - 1])) {
    const NestLoop& loop = nest.loops[--tile.first_loop];
    if (loop.kind == ForKind::kVectorized && loop.extent > 1) {
      vector = &loop;
      tile.lanes = static_cast<double>(loop.extent);
      tile.registers_per_vector = std::max(1.0, std::ceil(tile.lanes / registers.lanes(bits)));
    }
  }
  double moved_copies = 1;
  for (size_t i = tile.first_loop; i < nest.loops.size(); ++i) {
    const NestLoop& loop = nest.loops[i];
    if (loop.kind != ForKind::kUnrolled) continue;
    tile.copies *= static_cast<double>(loop.extent);
    (loop.reduces ? tile.reduce_copies : moved_copies) *= static_cast<double>(loop.extent);
  }
  tile.accumulators = moved_copies * tile.registers_per_vector;
  for (const NestAccess& access : nest.accesses) {
    if (access.in_register) continue;
    double distinct = 1, per_step = 1;
    for (size_t i = tile.first_loop; i < nest.loops.size(); ++i) {
      const NestLoop& loop = nest.loops[i];
      if (loop.kind != ForKind::kUnrolled || (access.loops & space.BitOf(loop.id)) == 0) continue;
      distinct *= static_cast<double>(loop.extent);
      if (!loop.reduces) per_step *= static_cast<double>(loop.extent);
    }
    int64_t stride = vector == nullptr ? 0 : StrideOf(space, access, *vector);
    if (stride > 1 && nest.dot_parts % stride == 0) stride = 1;  // The neighbours of a lane lie between.
    const bool is_apart =
        stride > 1 && stride <= kMaxLoadStride &&
        (!access.is_write || registers.num_mask_registers > 0);  // By whole vectors and a shuffle, or with lanes off.
    const bool is_gather = stride != 0 && stride != 1 && !is_apart;
    const double vectors = stride == 0 ? 1 : tile.registers_per_vector * static_cast<double>(is_apart ? stride : 1);
    const double places = static_cast<double>(access.places.size() - (access.is_read && access.is_write ? 1 : 0));
    if (access.is_read)
      (is_gather ? tile.gathers : tile.loads) += distinct * places * (is_gather ? tile.lanes : vectors);
    if (access.is_write) (is_gather ? tile.gathers : tile.stores) += distinct * (is_gather ? tile.lanes : vectors);
    if (access.is_read && !access.is_write && stride != 0)
      tile.vectors_in_flight = std::max(tile.vectors_in_flight, per_step * vectors);
  }
  const OpCounts& ops = nest.ops;
  const double weighted = ops.total() - ops.div - ops.math + kDivCycles * ops.div + kMathCycles * ops.math;
  tile.operations = weighted * tile.copies * tile.registers_per_vector;
  return tile;
}

DraftEstimate EstimateNest(const NestFootprints& footprints, const StoreNest& nest, const TileShape& tile,
                           const Target& target) {
  const RegisterFile registers = target.register_file();
  const CacheSizes caches = target.cache_sizes();
  const MicroArch& core = target.micro_arch();
  const double runs = nest.iterations / std::max(1.0, footprints.IterationsInside(tile.first_loop));
  const double fma_per_cycle = std::max(1, registers.fma_per_cycle);
  const bool reduces =
      std::any_of(nest.loops.begin(), nest.loops.end(), [](const NestLoop& loop) { return loop.reduces; });

  DraftEstimate estimate;
  estimate.compute = runs * tile.operations / fma_per_cycle;
  estimate.ports = runs * std::max((tile.loads + tile.gathers) / core.loads.per_cycle(registers.vector_bits),
                                   (tile.stores + tile.gathers / 2) / core.stores.per_cycle(registers.vector_bits));
  if (reduces) estimate.latency = runs * tile.reduce_copies * core.fma_latency;
  const double instructions = tile.operations + tile.loads + tile.stores + 2 * tile.gathers;
  const bool is_cold = instructions > core.decoded_cache_operations;
  estimate.front_end = runs * instructions / (is_cold ? core.cold_decoded_per_cycle : core.decoded_per_cycle);
  const double excess = reduces ? std::max(0.0, tile.registers_needed() - registers.num_vector_registers) : 0;
  estimate.spills = runs * excess * tile.reduce_copies * 2;

  estimate.l2 =
      footprints.LinesThrough(static_cast<double>(caches.l1_data_bytes)) * kCacheLineBytes / core.l2_bytes_per_cycle;
  estimate.l3 =
      footprints.LinesThrough(static_cast<double>(caches.l2_bytes)) * kCacheLineBytes / core.l3_bytes_per_cycle;
  const double last = static_cast<double>(std::max(caches.l3_bytes, caches.l2_bytes));
  // What fits the last level stays there from one call to the next.
  const bool stays = footprints.LinesAt(0) * kCacheLineBytes <= last;
  estimate.memory = stays ? 0 : footprints.LinesThrough(last) * kCacheLineBytes / core.memory_bytes_per_cycle;

  double entries = 1;
  for (size_t i = 0; i < tile.first_loop; ++i) {
    const double before = entries;
    entries *= static_cast<double>(nest.loops[i].extent);
    if (nest.loops[i].extent > 1) estimate.loop_overhead += entries * kLoopCycles + before * kLoopExitCycles;
  }
  const double bounds[] = {estimate.compute, estimate.ports, estimate.latency, estimate.front_end,
                           estimate.l2,      estimate.l3,    estimate.memory};
  double largest = 0, sum = 0;
  for (double bound : bounds) {
    largest = std::max(largest, bound);
    sum += bound;
  }
  estimate.total = largest + kShareOfLesserBounds * (sum - largest) + estimate.spills + estimate.loop_overhead;
  return estimate;
}

ParallelShape MeasureParallel(const StoreNest& nest, const Target& target) {
  ParallelShape shape;
  double outside = 1;
  for (const NestLoop& loop : nest.loops) {
    if (loop.kind == ForKind::kParallel) {
      if (shape.launches == 0) shape.launches = outside;
      shape.tasks *= static_cast<double>(loop.extent);
    }
    outside *= static_cast<double>(loop.extent);
  }
  const double cores = std::max(1, target.num_cores());
  if (shape.launches > 0) shape.speedup = shape.tasks / std::ceil(shape.tasks / cores);
  return shape;
}

double WallCycles(const DraftEstimate& estimate, const ParallelShape& parallel, const Target& target) {
  return estimate.total / parallel.speedup + (target.num_cores() > 1 ? parallel.launches * kLaunchCycles : 0);
}

}  // namespace lathe
