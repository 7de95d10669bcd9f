#include "compiler/relax/place_slices.h"

#include <algorithm>

namespace lathe::relax {
namespace {

class Placement {
 public:
  Placement(std::span<const LatheGraphStorage> storages, int64_t alignment)
      : storages_(storages), alignment_(alignment), inside_(storages.size()), join_of_(storages.size()) {}

  void AddJoin(CopyCall join) {
    TakeTogether(join.parts);
    if (!Place(join)) return;
    for (const Slice& part : join.parts) join_of_[part.memory] = joins_.size();
    joins_.push_back(std::move(join));
  }
  void AddCut(const CopyCall& cut) { Place(cut); }

  SlicePlan Finish() {
    for (size_t i = 0; i < inside_.size(); ++i) {
      while (inside_[i] && inside_[inside_[i]->memory]) {
        const Slice& outer = *inside_[inside_[i]->memory];
        inside_[i] = Slice{outer.memory, inside_[i]->offset + outer.offset};
      }
    }
    return {std::move(inside_), std::move(needless_calls_)};
  }

 private:
  // Replaces every run of parts that are those of a join by its result.
  void TakeTogether(std::vector<Slice>& parts) const {
    const auto is_same = [](const Slice& a, const Slice& b) { return a.memory == b.memory; };
    for (size_t i = 0; i < parts.size();) {
      const std::optional<size_t> number = join_of_[parts[i].memory];
      const CopyCall* join = number ? &joins_[*number] : nullptr;
      const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(i);
      const bool holds_run = join != nullptr && join->parts.size() <= parts.size() - i &&
                             std::equal(join->parts.begin(), join->parts.end(), begin, is_same);
      if (!holds_run) {
        ++i;
        continue;
      }
      begin->memory = join->whole;  // Which may be part of a longer run, so it is looked at again.
      parts.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(join->parts.size()));
    }
  }

  bool Place(const CopyCall& copy) {
    if (storages_[copy.whole] == LATHE_STORAGE_SIZED) return false;
    for (auto part = copy.parts.begin(); part != copy.parts.end(); ++part) {
      const bool is_free = storages_[part->memory] == LATHE_STORAGE_ARENA && !inside_[part->memory];
      const bool is_repeated =
          std::any_of(copy.parts.begin(), part, [&](const Slice& other) { return other.memory == part->memory; });
      if (!is_free || is_repeated || part->offset % alignment_ != 0) return false;
    }
    for (const Slice& part : copy.parts) inside_[part.memory] = Slice{copy.whole, part.offset};
    needless_calls_.push_back(copy.call);
    return true;
  }

  std::span<const LatheGraphStorage> storages_;
  int64_t alignment_;
  std::vector<std::optional<Slice>> inside_;
  std::vector<std::optional<size_t>> join_of_;  // Per memory: the number of the join that it is a part of.
  std::vector<CopyCall> joins_;                 // Those that are not copied.
  std::vector<size_t> needless_calls_;
};

}  // namespace

SlicePlan PlaceSlices(std::span<const LatheGraphStorage> storages, std::span<const CopyCall> joins,
                      std::span<const CopyCall> cuts, int64_t alignment) {
  Placement placement(storages, alignment);
  for (const CopyCall& join : joins) placement.AddJoin(join);
  for (const CopyCall& cut : cuts) placement.AddCut(cut);
  return placement.Finish();
}

}  // namespace lathe::relax
