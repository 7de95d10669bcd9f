// What the cores of processors can do, one row per micro-architecture: what drafts and schedules are made from.
// Vendors' names for products are in cpu_table.h.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "compiler/target/target.h"

namespace lathe {

// Units that start one operation a cycle each, on at most `bits`; on longer vectors in several passes.
struct Units {
  double count = 1;
  int bits = 512;
  double per_cycle(int vector_bits) const { return count * std::min(1.0, static_cast<double>(bits) / vector_bits); }
};

// The defaults are a processor of recent years.
struct MicroArch {
  std::string_view name;
  Units fma{.count = 2}, loads{.count = 2}, stores{.count = 1};
  double fma_latency = 4;  // Cycles from one FMA to the next that adds to the same register.
  // Bytes a cycle that one core gets from there, sustained.
  double l2_bytes_per_cycle = 32, l3_bytes_per_cycle = 12, memory_bytes_per_cycle = 5;
  // Instructions a cycle: of loops no longer than `decoded_cache_operations`, and of longer ones, which are decoded
  // anew each time.
  double decoded_per_cycle = 4, cold_decoded_per_cycle = 2.5, decoded_cache_operations = 1500;
  CacheSizes caches = {};
};
const MicroArch* FindMicroArch(std::string_view name);
std::span<const MicroArch> MicroArchs();

}  // namespace lathe
