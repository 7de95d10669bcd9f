#include "tuner/space/product_chain.h"

#include <algorithm>

#include "compiler/schedule/analysis.h"
#include "tuner/space/block_pattern.h"
#include "tuner/space/contraction_axes.h"
#include "tuner/space/row_reduction.h"
#include "tuner/space/tile_levels.h"

namespace lathe {
namespace {

std::optional<size_t> SoleStep(const BlockNode& block) {
  std::optional<size_t> found;
  for (size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (block.iter_vars[i].kind == IterKind::kSpatial) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<ProductOfRows> ProductOf(const BlockNode& block, const Target& target) {
  const std::optional<ContractionAxes> axes = ContractionAxesOf(block);
  const std::optional<size_t> step = SoleStep(block);
  if (!axes || !step || axes->Has(AxisRole::kWindow)) return std::nullopt;
  const std::vector<size_t> rows = axes->LongOnes(block, AxisRole::kData),
                            columns = axes->LongOnes(block, AxisRole::kWeight);
  if (rows.empty() || columns.size() != 1) return std::nullopt;
  ProductOfRows product{block.name, rows.back(), columns[0], *step, axes->weight, 0};
  const int64_t extent = ExtentOf(block.iter_vars[product.column]);
  product.lanes = ChooseLanes(extent, VectorsFor(block, target));
  const bool is_whole = product.lanes > 1 && extent % product.lanes == 0;
  const bool has_rows = StrideOf(block, block.reads[axes->data], *step, product.lanes) == Stride::kOne &&
                        StrideOf(block, block.writes[0], product.column, product.lanes) == Stride::kOne;
  return is_whole && has_rows ? std::optional(std::move(product)) : std::nullopt;
}

// What is read as it lies: columns are neighbours.
bool HasColumns(const BlockNode& block, const ProductOfRows& product) {
  return StrideOf(block, block.reads[product.weight], product.column, product.lanes) == Stride::kOne;
}

// Root blocks by their part in a chain.
struct Parts {
  std::vector<int> before, between, after;
  int first = -1, last = -1;
};

std::optional<Parts> PartsOf(const Schedule& schedule) {
  Parts parts;
  for (const int row : schedule.ChildBlocksOf(schedule.RootRow())) {
    if (!IsPlainStage(schedule, row)) return std::nullopt;
    if (ContractionAxesOf(schedule.BlockOf(row))) {
      if (parts.last >= 0) return std::nullopt;
      (parts.first < 0 ? parts.first : parts.last) = row;
    } else {
      (parts.first < 0 ? parts.before : parts.last < 0 ? parts.between : parts.after).push_back(row);
    }
  }
  return parts.last < 0 ? std::nullopt : std::optional(std::move(parts));
}

// The blocks reduce rows and fill what the last product takes.
bool MakeRowsFor(const Schedule& schedule, const std::vector<int>& between, int last, const Target& target) {
  if (between.empty() || !IsSpatial(schedule.BlockOf(between.back()))) return false;
  bool reduces = false;
  for (const int row : between) {
    const BlockNode& block = schedule.BlockOf(row);
    if (!IsSpatial(block) && !ReducesRows(block, target)) return false;
    reduces = reduces || !IsSpatial(block);
  }
  const std::vector<int> consumers = ConsumersOf(schedule, between.back());
  return reduces && consumers == std::vector<int>{last};
}

// Nothing, or one data-parallel block that feeds the product alone.
bool IsWeightOf(const Schedule& schedule, const std::vector<int>& before, int first, const ProductOfRows& product) {
  if (before.empty()) return true;
  const BlockNode& maker = schedule.BlockOf(before[0]);
  return before.size() == 1 && IsSpatial(maker) && ConsumersOf(schedule, before[0]) == std::vector<int>{first} &&
         maker.writes[0].buffer.same_as(schedule.BlockOf(first).reads[product.weight].buffer);
}

}  // namespace

std::optional<ProductChain> ProductChainOf(const Schedule& inlined, const Target& target) {
  std::optional<Parts> parts = PartsOf(inlined);
  if (!parts) return std::nullopt;
  const auto first = ProductOf(inlined.BlockOf(parts->first), target),
             last = ProductOf(inlined.BlockOf(parts->last), target);
  if (!first || !last || !HasColumns(inlined.BlockOf(parts->last), *last)) return std::nullopt;
  if (HasEpilogue(inlined, parts->first)) std::erase(parts->between, ConsumersOf(inlined, parts->first)[0]);
  const bool is_chain = MakeRowsFor(inlined, parts->between, parts->last, target) &&
                        IsWeightOf(inlined, parts->before, parts->first, *first) &&
                        parts->after.size() == (HasEpilogue(inlined, parts->last) ? 1 : 0);
  if (!is_chain) return std::nullopt;
  ProductChain chain{*first, *last, {}, {}};
  for (const int row : parts->between) chain.between.push_back(inlined.BlockOf(row).name);
  if (!parts->before.empty()) chain.weight_of_first = inlined.BlockOf(parts->before[0]).name;
  return chain;
}

}  // namespace lathe
