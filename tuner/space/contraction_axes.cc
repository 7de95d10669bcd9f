#include "tuner/space/contraction_axes.h"

#include <algorithm>

#include "compiler/ir/contraction.h"
#include "compiler/ir/visitor.h"
#include "tuner/space/block_pattern.h"

namespace lathe {
namespace {

// The data-parallel iter vars that stand in an index of the data beside `iter`.
std::vector<size_t> Companions(const BlockNode& block, const BufferRegion& data, const Var& iter) {
  std::vector<size_t> found;
  for (const Range& range : data.region) {
    if (!UsesVar(range.min, iter.get())) continue;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      if (block.iter_vars[i].kind == IterKind::kSpatial && UsesVar(range.min, block.iter_vars[i].var.get()))
        found.push_back(i);
    }
  }
  return found;
}

}  // namespace

std::vector<size_t> ContractionAxes::LongOnes(const BlockNode& block, AxisRole role,
                                              std::optional<size_t> without) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == role && i != without && ExtentOf(block.iter_vars[i]) > 1) found.push_back(i);
  return found;
}

bool ContractionAxes::Has(AxisRole role) const { return std::find(roles.begin(), roles.end(), role) != roles.end(); }

std::optional<ContractionAxes> ContractionAxesOf(const BlockNode& block) {
  const std::optional<Contraction> product = ContractionOf(block);
  if (!block.init || block.writes.size() != 1 || !product || !product->is_plain()) return std::nullopt;
  const auto data = PositionOfRead(block, product->a->buffer), weight = PositionOfRead(block, product->b->buffer);
  if (!data || !weight) return std::nullopt;
  ContractionAxes found{*data, *weight, {}, {}, block.writes[0].region.size()};
  for (const IterVar& iter : block.iter_vars) {
    const bool moves_weight = Moves(block.reads[*weight], iter.var);
    if (iter.kind == IterKind::kSpatial) {
      const bool moves_data = Moves(block.reads[*data], iter.var);
      found.roles.push_back(!moves_weight ? AxisRole::kData : moves_data ? AxisRole::kBoth : AxisRole::kWeight);
      continue;
    }
    const std::vector<size_t> pixels = Companions(block, block.reads[*data], iter.var);
    found.roles.push_back(pixels.empty() ? AxisRole::kReduce : AxisRole::kWindow);
    found.pixels.insert(found.pixels.end(), pixels.begin(), pixels.end());
  }
  std::sort(found.pixels.begin(), found.pixels.end());
  found.pixels.erase(std::unique(found.pixels.begin(), found.pixels.end()), found.pixels.end());
  return found;
}

}  // namespace lathe
