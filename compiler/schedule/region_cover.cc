#include "compiler/schedule/region_cover.h"

#include <algorithm>
#include <map>

#include "compiler/schedule/analysis.h"

namespace lathe {
namespace {

bool IsWhole(const GuardedRegion& region) {
  const auto is_empty = [](const std::vector<Expr>& bounds) { return bounds.empty(); };
  return region.conditions.empty() && std::all_of(region.from.begin(), region.from.end(), is_empty) &&
         std::all_of(region.below.begin(), region.below.end(), is_empty);
}

// The dimension in which two boxes differ, if it is one.
std::optional<size_t> OnlyDifference(const GuardedRegion& a, const GuardedRegion& b, const Analyzer& analyzer) {
  std::optional<size_t> difference;
  for (size_t i = 0; i < a.box.size(); ++i) {
    if (analyzer.CanProveEqual(a.box[i].min, b.box[i].min) && analyzer.CanProveEqual(a.box[i].extent, b.box[i].extent))
      continue;
    if (difference) return std::nullopt;
    difference = i;
  }
  return difference;
}

// One box for two that touch or overlap; `a` begins first.
std::optional<GuardedRegion> Joined(const GuardedRegion& a, const GuardedRegion& b, const Analyzer& analyzer) {
  if (!IsWhole(a) || !IsWhole(b)) return std::nullopt;
  const std::optional<size_t> dim = OnlyDifference(a, b, analyzer);
  if (!dim) return std::nullopt;
  const Range &first = a.box[*dim], &second = b.box[*dim];
  const Expr end = second.min + second.extent;
  const bool joins = analyzer.CanProve(LessEqual(first.min, second.min)) &&
                     analyzer.CanProve(LessEqual(second.min, first.min + first.extent)) &&
                     analyzer.CanProve(LessEqual(first.min + first.extent, end));
  if (!joins) return std::nullopt;
  GuardedRegion joined = a;
  joined.box[*dim].extent = analyzer.Simplify(end - first.min);
  return joined;
}

// Adds what adjacent regions make together: writers that fill a buffer in turns.
void JoinAdjacent(std::vector<GuardedRegion>& regions, const Analyzer& analyzer) {
  constexpr size_t kLimit = 16;  // Of regions; a buffer filled in more pieces is not taken for covered.
  for (size_t i = 0; i < regions.size() && regions.size() < kLimit; ++i) {
    for (size_t k = 0; k < i && regions.size() < kLimit; ++k) {
      std::optional<GuardedRegion> joined = Joined(regions[k], regions[i], analyzer);
      if (!joined) joined = Joined(regions[i], regions[k], analyzer);
      if (joined) regions.push_back(*std::move(joined));
    }
  }
}

// What `producers` write and `consumer` reads of one buffer below `above`, the innermost loop or block around both.
bool IsReadCovered(const Schedule& schedule, int above, const std::vector<int>& producers, int consumer,
                   const BufferRegion& read, const Analyzer& analyzer) {
  const std::vector<Range> full = FullRegion(read.buffer).region;
  const GuardedRegion needed = TouchedAt(schedule, above, consumer, read, analyzer);
  std::vector<GuardedRegion> written;
  const auto covers = [&](const GuardedRegion& region) { return Covers(region, needed, full, analyzer); };
  for (int producer : producers) {
    const std::vector<GuardedRegion> some = WrittenForCertain(schedule, above, producer, read.buffer, analyzer);
    if (std::any_of(some.begin(), some.end(), covers)) return true;
    written.insert(written.end(), some.begin(), some.end());
  }
  if (written.size() < 2) return false;
  JoinAdjacent(written, analyzer);
  return std::any_of(written.begin(), written.end(), covers);
}

}  // namespace

bool IsRegionCovered(const Schedule& schedule, int consumer) {
  const int scope_row = schedule.ScopeOf(consumer);
  const BlockScope& scope = schedule.Scope(scope_row);
  for (const BufferRegion& read : schedule.BlockOf(consumer).reads) {
    if (scope.IsWrittenOutside(read.buffer)) return false;
    std::map<int, std::vector<int>> producers;  // By the innermost loop or block around them and the consumer.
    for (int writer : scope.WritersOf(read.buffer))
      if (scope.IsBefore(writer, consumer)) producers[CommonAncestor(schedule, writer, consumer)].push_back(writer);
    for (const auto& [above, writers] : producers) {
      Analyzer analyzer;
      BindOuterLoops(schedule, above, schedule.IsLoop(above), analyzer);
      if (!IsReadCovered(schedule, above, writers, consumer, read, analyzer)) return false;
    }
  }
  return true;
}

}  // namespace lathe
