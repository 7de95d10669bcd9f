// How much memory a store's accesses touch while its inner loops run, and what that means for caches.
#pragma once

#include "tuner/feature/loop_nest.h"

namespace lathe {

inline constexpr double kCacheLineBytes = 64;

struct Footprint {
  double elements = 1, bytes = 1, lines = 1;
};

// Of one store. Level l: the loops from position l inwards run once, those outside stand still; level 0 is the whole
// nest.
class NestFootprints {
 public:
  NestFootprints(const IndexSpace& space, const StoreNest& nest);

  const Footprint& At(size_t access, size_t level) const { return table_[level * num_accesses_ + access]; }
  // Lines of all accesses that have memory behind them.
  double LinesAt(size_t level) const { return lines_[level]; }
  double IterationsInside(size_t level) const { return inside_[level]; }
  // The outermost level whose data fits `capacity_bytes`; the innermost if none does.
  size_t LevelThatFits(double capacity_bytes) const;
  // Lines of the access that come from behind a cache of that size while the whole nest runs: the data of the level
  // that fits, once for each iteration outside, except of loops directly outside that do not move the access.
  double LinesThrough(size_t access, double capacity_bytes) const;
  double LinesThrough(double capacity_bytes) const;  // Of all accesses.

 private:
  const IndexSpace& space_;
  const StoreNest& nest_;
  size_t num_accesses_;
  std::vector<Footprint> table_;
  std::vector<double> lines_, inside_;
};

// Elements between what the access touches at the first and the second iteration of `loop`; 0 if it does not move.
int64_t StrideOf(const IndexSpace& space, const NestAccess& access, const NestLoop& loop);

}  // namespace lathe
