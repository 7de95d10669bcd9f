#include "tuner/space/anchor.h"

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/analysis.h"
#include "tuner/space/dot_product.h"
#include "tuner/space/product_chain.h"

namespace lathe {
namespace {

bool IsReused(const Schedule& schedule, int row) {
  const BlockNode& block = schedule.BlockOf(row);
  return schedule.FindBlock(block.name) == row && block.init && IsPlain(schedule, row) && HasDataReuse(block);
}

bool HasLanes(const BlockNode& block, const Target& target) {
  return !VectorizableIters(block, VectorsFor(block, target)).empty() || !DotTilingsOf(block, target).empty();
}

// By another layout, if not as it is.
bool CanBeAnchor(const Schedule& schedule, int row, const Target& target) {
  return IsReused(schedule, row) &&
         (HasLanes(schedule.BlockOf(row), target) || !PackableIters(schedule, row, target).empty());
}

// Whether tiles beside each other read some of the same elements, as windows do: a dimension moves by several iters.
bool ShareReads(const BlockNode& block, const std::vector<PackedRead>& packed) {
  const auto is_window = [&](const Range& range) {
    return std::count_if(block.iter_vars.begin(), block.iter_vars.end(),
                         [&](const IterVar& iter) { return UsesVar(range.min, iter.var.get()); }) > 1;
  };
  return std::any_of(packed.begin(), packed.end(), [&](const PackedRead& each) {
    const std::vector<Range>& region = block.reads[each.read].region;
    return std::any_of(region.begin(), region.end(), is_window);
  });
}

}  // namespace

bool IsAnchor(const Schedule& schedule, int row, const Target& target) {
  return IsReused(schedule, row) && HasLanes(schedule.BlockOf(row), target);
}

std::optional<int> SoleReduction(const Schedule& schedule) {
  std::optional<int> found;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    if (!schedule.BlockOf(row).init) continue;
    if (found || !IsPlainStage(schedule, row)) return std::nullopt;
    found = row;
  }
  return found;
}

std::optional<int> FindAnchor(const Schedule& schedule, const Target& target) {
  if (ProductChainOf(schedule, target)) return std::nullopt;
  std::optional<int> anchor;
  int64_t most = 0;
  for (int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    if (!CanBeAnchor(schedule, row, target)) continue;
    int64_t iterations = 1;
    for (const IterVar& iter : schedule.BlockOf(row).iter_vars) iterations *= ExtentOf(iter);
    if (iterations > most) {
      most = iterations;
      anchor = row;
    }
  }
  return anchor;
}

std::optional<std::vector<PackedRead>> LayoutsFor(const Schedule& schedule, int row, size_t iter, int64_t lanes,
                                                  const Target& target) {
  const int64_t many_bytes = target.cache_sizes().l2_bytes / 2;  // Rows of it lie on many pages.
  const BlockNode& block = schedule.BlockOf(row);
  auto packed = ReadsToPack(block, iter, lanes, many_bytes);
  const std::vector<int> producers = ProducersOf(schedule, row);
  const auto is_made_so = [&](const PackedRead& read) {
    const Buffer& buffer = block.reads[read.read].buffer;
    return read.apart == 1 && read.lane_dim + 1 == buffer->shape.size() &&
           std::any_of(producers.begin(), producers.end(),
                       [&](int producer) { return schedule.BlockOf(producer).writes[0].buffer.same_as(buffer); });
  };
  if (packed) std::erase_if(*packed, is_made_so);
  return packed && !packed->empty() ? packed : std::nullopt;
}

TilingOptions TilingOfLayouts(const BlockNode& block, size_t iter, int64_t lanes, std::vector<PackedRead> packed) {
  const bool copies_at_outer = !ShareReads(block, packed);
  return {iter, lanes, Inputs::kBeforehand, std::move(packed), copies_at_outer};
}

std::vector<size_t> PackableIters(const Schedule& schedule, int row, const Target& target) {
  const BlockNode& block = schedule.BlockOf(row);
  const Vectors vectors = VectorsFor(block, target);
  const std::vector<size_t> without = VectorizableIters(block, vectors);
  std::vector<size_t> iters;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    const bool is_known = std::find(without.begin(), without.end(), i) != without.end();
    const int64_t lanes = ChooseLanes(ExtentOf(block.iter_vars[i]), vectors);
    if (block.iter_vars[i].kind != IterKind::kSpatial || is_known || lanes == 1) continue;
    if (StrideOf(block, block.writes[0], i, lanes) == Stride::kOne && LayoutsFor(schedule, row, i, lanes, target))
      iters.push_back(i);
  }
  return iters;
}

}  // namespace lathe
