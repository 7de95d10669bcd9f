#include "tuner/feature/footprint.h"

#include <cmath>

namespace lathe {
namespace {

Footprint BoxOf(const IndexSpace& space, const NestAccess& access, uint64_t running) {
  const size_t rank = access.shape.size();
  double run = access.buffer->dtype.bytes(), rows = 1, elements = 1;
  bool is_contiguous = true;  // The dimensions so far, from the last, are covered whole.
  for (size_t back = 0; back < rank; ++back) {
    const size_t dim = rank - 1 - back;
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (const std::vector<AffineForm>& place : access.places) {
      if (dim >= place.size()) continue;
      const IndexInterval cover = space.Cover(place[dim], running);
      low = std::min(low, cover.low);
      high = std::max(high, cover.high);
    }
    const double span = high < low ? 1 : static_cast<double>(std::clamp<int64_t>(high - low + 1, 1, access.shape[dim]));
    elements *= span;
    (is_contiguous ? run : rows) *= span;
    is_contiguous = is_contiguous && span == static_cast<double>(access.shape[dim]);
  }
  return {elements, elements * access.buffer->dtype.bytes(), rows * std::ceil(run / kCacheLineBytes)};
}

}  // namespace

NestFootprints::NestFootprints(const IndexSpace& space, const StoreNest& nest)
    : space_(space), nest_(nest), num_accesses_(nest.accesses.size()) {
  const size_t levels = nest.loops.size() + 1;
  table_.resize(levels * num_accesses_);
  lines_.assign(levels, 0);
  inside_.assign(levels, 1);
  uint64_t running = nest.dot_loop;
  for (size_t level = levels; level-- > 0;) {
    uint64_t added = 0;
    if (level + 1 < levels) {
      added = space.BitOf(nest.loops[level].id);
      running |= added;
      inside_[level] = inside_[level + 1] * static_cast<double>(nest.loops[level].extent);
    }
    for (size_t i = 0; i < num_accesses_; ++i) {
      const NestAccess& access = nest.accesses[i];
      Footprint& box = table_[level * num_accesses_ + i];
      const bool is_same = level + 1 < levels && (access.loops & added) == 0;
      box = is_same ? At(i, level + 1) : BoxOf(space, access, running);
      if (!access.in_register) lines_[level] += box.lines;
    }
  }
}

size_t NestFootprints::LevelThatFits(double capacity_bytes) const {
  for (size_t level = 0; level < lines_.size(); ++level) {
    if (lines_[level] * kCacheLineBytes <= capacity_bytes) return level;
  }
  return lines_.size() - 1;
}

double NestFootprints::LinesThrough(size_t access, double capacity_bytes) const {
  if (nest_.accesses[access].in_register) return 0;
  const size_t level = LevelThatFits(capacity_bytes);
  double lines = At(access, level).lines;
  bool is_kept = true;
  for (size_t outside = level; outside-- > 0;) {
    const NestLoop& loop = nest_.loops[outside];
    const bool moves = (nest_.accesses[access].loops & space_.BitOf(loop.id)) != 0 && loop.extent > 1;
    if (is_kept && !moves) continue;
    is_kept = false;
    lines *= static_cast<double>(loop.extent);
  }
  return lines;
}

double NestFootprints::LinesThrough(double capacity_bytes) const {
  double lines = 0;
  for (size_t i = 0; i < num_accesses_; ++i) lines += LinesThrough(i, capacity_bytes);
  return lines;
}

int64_t StrideOf(const IndexSpace& space, const NestAccess& access, const NestLoop& loop) {
  if ((access.loops & space.BitOf(loop.id)) == 0 || loop.extent < 2 || access.places.empty()) return 0;
  const std::vector<AffineForm>& place = access.places.front();
  int64_t offset = 0;
  for (size_t dim = 0; dim < place.size() && dim < access.shape.size(); ++dim) {
    offset = offset * access.shape[dim] + (space.At(place[dim], loop.id, 1) - space.At(place[dim], loop.id, 0));
  }
  return offset;
}

}  // namespace lathe
